#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/port/linux_caches.h"
#include "runtime/port/linux_cpu.h"
#include "temper/port_linux.h"

namespace {

constexpr int32_t kFallbackClockKhz = 1000000;
constexpr int kCopyRounds = 7;
constexpr int32_t kMinCopyBytes = 8 << 20, kMaxCopyBytes = 64 << 20;

// The value behind "key : " in /proc/cpuinfo, first processor; false when the key is absent.
bool read_cpuinfo(const char* key, char* value, size_t capacity) {
  FILE* const file = std::fopen("/proc/cpuinfo", "re");
  if (file == nullptr) {
    return false;
  }
  char line[512];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, file) != nullptr) {
    char* const colon = std::strchr(line, ':');
    if (colon == nullptr || std::strncmp(line, key, std::strlen(key)) != 0) {
      continue;
    }
    const char* text = colon + 1 + std::strspn(colon + 1, " \t");
    std::snprintf(value, capacity, "%.*s", static_cast<int>(std::strcspn(text, "\n")), text);
    found = value[0] != '\0';
  }
  std::fclose(file);
  return found;
}

// The first CPU that this process may use; its caches and clock stand for all.
int first_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) {
        return cpu;
      }
    }
  }
  return 0;
}

int32_t clock_khz(const char* cpu_folder) {
  char path[256];
  std::snprintf(path, sizeof path, "%s/cpufreq/cpuinfo_max_freq", cpu_folder);
  long khz = 0;
  if (FILE* const file = std::fopen(path, "re")) {
    if (std::fscanf(file, "%ld", &khz) != 1) {
      khz = 0;
    }
    std::fclose(file);
  }
  char text[64];
  if (khz <= 0 && read_cpuinfo("cpu MHz", text, sizeof text)) {
    khz = static_cast<long>(std::strtod(text, nullptr) * 1000.0);
  }
  return khz > 0 && khz < INT32_MAX ? static_cast<int32_t>(khz) : kFallbackClockKhz;
}

// Fastest of a few copies between buffers beyond the second level; 0 when there is no memory for them.
int32_t copy_mb_s(int32_t l2_bytes) {
  const int64_t wanted = int64_t{l2_bytes} * 4;
  const size_t bytes = static_cast<size_t>(wanted < kMinCopyBytes   ? kMinCopyBytes
                                           : wanted > kMaxCopyBytes ? kMaxCopyBytes
                                                                    : wanted);
  char* const from = static_cast<char*>(std::malloc(bytes));
  char* const to = static_cast<char*>(std::malloc(bytes));
  uint64_t fastest_ns = UINT64_MAX;
  if (from != nullptr && to != nullptr) {
    std::memset(from, 1, bytes);
    std::memset(to, 2, bytes);
    for (int round = 0; round < kCopyRounds; ++round) {
      const uint64_t start_ns = temper_linux_now_ns(nullptr);
      std::memcpy(to, from, bytes);
      asm volatile("" : : "r"(to) : "memory");  // the copy is not dead
      const uint64_t took_ns = temper_linux_now_ns(nullptr) - start_ns;
      fastest_ns = took_ns != 0 && took_ns < fastest_ns ? took_ns : fastest_ns;
    }
  }
  std::free(from);
  std::free(to);
  return static_cast<int32_t>(2 * static_cast<uint64_t>(bytes) * 1000 / fastest_ns);
}

}  // namespace

uint32_t temper_linux_cpu_count(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  long count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<uint32_t>(count) : 1;
}

temper_status temper_linux_probe(temper_facts* facts) {
  if (facts == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  char folder[128];
  std::snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%d", first_cpu());
  const temper::CpuTraits traits = temper::cpu_traits();
  const temper::CacheSizes caches = temper::read_caches(folder);
  int32_t* const value = facts->value;
  value[TEMPER_FACT_VECTOR_LANES] = traits.vector_lanes;
  value[TEMPER_FACT_VECTOR_REGISTERS] = traits.vector_registers;
  value[TEMPER_FACT_L1D_BYTES] = caches.l1d_bytes;
  value[TEMPER_FACT_L2_BYTES] = caches.l2_bytes;
  value[TEMPER_FACT_L3_BYTES] = caches.l3_bytes;
  value[TEMPER_FACT_CORES] = static_cast<int32_t>(temper_linux_cpu_count());
  value[TEMPER_FACT_THREADS] = value[TEMPER_FACT_CORES];
  value[TEMPER_FACT_CLOCK_KHZ] = clock_khz(folder);
  value[TEMPER_FACT_COPY_MB_S] = copy_mb_s(caches.l2_bytes);
  value[TEMPER_FACT_FMA_LATENCY] = traits.fma_latency;
  value[TEMPER_FACT_FMA_PER_CYCLE] = traits.fma_per_cycle;
  return TEMPER_OK;
}

void temper_linux_cpu_name(char* text, size_t capacity) {
  if (capacity == 0) {
    return;
  }
  constexpr const char* kKeys[] = {"model name", "Model", "Hardware", "uarch"};
  for (const char* key : kKeys) {
    if (read_cpuinfo(key, text, capacity)) {
      return;
    }
  }
  std::snprintf(text, capacity, "unknown");
}

uint32_t temper_linux_core_type(void) {
  uint32_t hash = temper::cpu_model_hash();
  if (hash == 0) {
    char name[256];
    temper_linux_cpu_name(name, sizeof name);
    hash = temper::hash_bytes(name, std::strlen(name));
  }
  return hash != 0 ? hash : 1;
}
