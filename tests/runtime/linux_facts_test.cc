#include <doctest/doctest.h>
#include <sched.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/port/linux_caches.h"
#include "temper/port_linux.h"
#include "tests/runtime/test_folder.h"

namespace temper {
namespace {

// A machine's caches, laid out as sysfs does.
class CpuFolder {
 public:
  void add(int index, const char* level, const char* type, const char* size, const char* shared) {
    const std::filesystem::path folder = folder_ / ("cache/index" + std::to_string(index));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "level") << level << "\n";
    std::ofstream(folder / "type") << type << "\n";
    std::ofstream(folder / "size") << size << "\n";
    std::ofstream(folder / "shared_cpu_list") << shared << "\n";
  }
  CacheSizes read() const { return read_caches(folder_.path().c_str()); }

 private:
  test::TestFolder folder_;
};

void check_sizes(const CacheSizes& sizes, int32_t l1d, int32_t l2, int32_t l3) {
  CHECK(sizes.l1d_bytes == l1d);
  CHECK(sizes.l2_bytes == l2);
  CHECK(sizes.l3_bytes == l3);
}

TEST_CASE("caches are shared out among cores; threads of one core count once for the second level") {
  CpuFolder cpu;
  cpu.add(0, "1", "Data", "32K", "0,8");
  cpu.add(1, "1", "Instruction", "64K", "0,8");
  cpu.add(2, "2", "Unified", "1024K", "0-1,8-9");
  cpu.add(3, "3", "Unified", "16M", "0-15");
  check_sizes(cpu.read(), 32 << 10, 512 << 10, 1 << 20);
}

TEST_CASE("the share of a huge third level is capped") {
  CpuFolder cpu;
  cpu.add(0, "1", "Data", "48K", "0");
  cpu.add(1, "2", "Unified", "2M", "0");
  cpu.add(2, "3", "Unified", "491520K", "0-1");
  check_sizes(cpu.read(), 48 << 10, 2 << 20, kMaxL3Share);
}

TEST_CASE("a board without a third level, and one that tells nothing or nonsense, get sane sizes") {
  CpuFolder small;
  small.add(0, "1", "Data", "32K", "0");
  small.add(1, "2", "Unified", "512K", "0-3");
  check_sizes(small.read(), 32 << 10, 128 << 10, 0);
  check_sizes(CpuFolder().read(), 32 << 10, 256 << 10, 0);
  CpuFolder odd;
  odd.add(0, "1", "Data", "-5", "x");
  odd.add(1, "9", "Unified", "5K", "0");
  odd.add(2, "2", "Unified", "99999999999999999999G", "5-1");
  check_sizes(odd.read(), 32 << 10, 256 << 10, 0);
}

TEST_CASE("the probe fills every fact with something possible") {
  temper_facts facts;
  std::memset(&facts, 0xFF, sizeof facts);
  REQUIRE(temper_linux_probe(&facts) == TEMPER_OK);
  const auto between = [&](temper_fact fact, int32_t low, int32_t high) {
    CAPTURE(static_cast<int>(fact));
    CHECK(facts.value[fact] >= low);
    CHECK(facts.value[fact] <= high);
  };
  between(TEMPER_FACT_VECTOR_LANES, 1, 64);
  between(TEMPER_FACT_VECTOR_REGISTERS, 8, 64);
  between(TEMPER_FACT_L1D_BYTES, 1 << 10, 16 << 20);
  between(TEMPER_FACT_L2_BYTES, 0, INT32_MAX);
  between(TEMPER_FACT_L3_BYTES, 0, kMaxL3Share);
  between(TEMPER_FACT_CORES, 1, 1 << 16);
  between(TEMPER_FACT_CLOCK_KHZ, 1000, 20000000);
  between(TEMPER_FACT_COPY_MB_S, 1, 10000000);
  between(TEMPER_FACT_FMA_LATENCY, 1, 20);
  between(TEMPER_FACT_FMA_PER_CYCLE, 1, 4);
  CHECK(facts.value[TEMPER_FACT_THREADS] == facts.value[TEMPER_FACT_CORES]);
  CHECK(temper_linux_probe(nullptr) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("only the CPUs that the process may use are counted") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(temper_linux_cpu_count() == static_cast<uint32_t>(CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(temper_linux_cpu_count() == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("the processor has a name and a type, always the same") {
  char name[128] = "";
  temper_linux_cpu_name(name, sizeof name);
  CHECK(std::strlen(name) > 0);
  char cut[4];
  temper_linux_cpu_name(cut, sizeof cut);
  CHECK(std::string(cut) == std::string(name).substr(0, 3));
  CHECK(temper_linux_core_type() != 0);
  CHECK(temper_linux_core_type() == temper_linux_core_type());
}

}  // namespace
}  // namespace temper
