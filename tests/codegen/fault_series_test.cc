#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/codegen/fault_bench.h"

namespace temper {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr uint32_t kFaults = 150;
#else
constexpr uint32_t kFaults = 1000;
#endif

uint32_t fault_count() {
  const char* const wanted = std::getenv("TEMPER_FAULTS");
  return wanted == nullptr ? kFaults : static_cast<uint32_t>(std::strtoul(wanted, nullptr, 10));
}

/// Children of this process, dead ones that nobody waited for included.
size_t child_count() {
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  size_t count = 0;
  for (std::string pid; file >> pid;) {
    ++count;
  }
  return count;
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

struct Planted {
  Fault fault;
  temper_outcome expected;
  uint64_t limit_ns;
};
const Planted kPlanted[] = {
    {Fault::kKernelCrashes, TEMPER_OUTCOME_CRASHED, 20 * kSecond},
    {Fault::kKernelHangs, TEMPER_OUTCOME_TIMEOUT, 5 * kMillisecond},
    {Fault::kWrongResult, TEMPER_OUTCOME_WRONG_RESULT, 20 * kSecond},
    {Fault::kWritesBehindOutput, TEMPER_OUTCOME_WRONG_RESULT, 20 * kSecond},
    {Fault::kWritesBeforeOutput, TEMPER_OUTCOME_WRONG_RESULT, 20 * kSecond},
    {Fault::kWritesFarBehindOutput, TEMPER_OUTCOME_CRASHED, 20 * kSecond},
    {Fault::kWritesInput, TEMPER_OUTCOME_CRASHED, 20 * kSecond},
    {Fault::kKernelExits, TEMPER_OUTCOME_CRASHED, 20 * kSecond},
    {Fault::kBuilderAborts, TEMPER_OUTCOME_BUILD_ERROR, 20 * kSecond},
    {Fault::kBuilderRefuses, TEMPER_OUTCOME_BUILD_ERROR, 20 * kSecond},
    {Fault::kBuilderExits, TEMPER_OUTCOME_BUILD_ERROR, 20 * kSecond},
    {Fault::kLoadFails, TEMPER_OUTCOME_BUILD_ERROR, 20 * kSecond},
};

TEST_CASE("planted faults in a row, in any order: each costs its own trial, and nothing leaks") {
  const uint32_t faults = fault_count();
  const size_t descriptors_before = open_descriptors();
  {
    Bench bench;
    REQUIRE(bench.build(0, Fault::kGood) == TEMPER_OUTCOME_OK);
    REQUIRE(bench.check(0) == TEMPER_OUTCOME_OK);
    Random random(4);
    size_t descriptors = 0, children = 0, bytes = 0;
    uint32_t misjudged = 0;
    for (uint32_t i = 0; i < faults; ++i) {
      const Planted& plant = kPlanted[random.below(sizeof kPlanted / sizeof *kPlanted)];
      misjudged += bench.trial(plant.fault, plant.limit_ns) == plant.expected ? 0 : 1;
      if (i % 50 == 49) {  // a good one in between is judged as before
        REQUIRE(bench.check(0) == TEMPER_OUTCOME_OK);
        CHECK(bench.jit().broken_reason().empty());
      }
      if (i == faults / 5) {  // by now every buffer has its size
        descriptors = open_descriptors();
        children = child_count();
        bytes = resident_bytes();
      }
    }
    REQUIRE(bench.check(0) == TEMPER_OUTCOME_OK);
    CHECK(misjudged == 0);
    CHECK(open_descriptors() <= descriptors + 2);
    CHECK(child_count() <= children + 1);
    const size_t grown = resident_bytes() > bytes ? resident_bytes() - bytes : 0;
    MESSAGE(faults << " faults, " << bench.jit().costs().timer_restarts << " timing processes and "
                   << bench.jit().costs().builder_restarts << " builders replaced, " << grown / 1024
                   << " KiB more memory");
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what was freed
    CHECK(grown < (size_t{2} << 20));
#endif
  }
  CHECK(open_descriptors() == descriptors_before);
  CHECK(child_count() == 0);
}

}  // namespace
}  // namespace temper
