#include "runtime/port/linux_caches.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace temper {
namespace {

constexpr int64_t kFallbackL1d = 32 << 10, kFallbackL2 = 256 << 10;
constexpr int kMaxIndices = 16;

struct Cache {
  int64_t bytes = 0;
  int64_t sharers = 1;  // CPUs
};

bool read_text(const char* folder, int index, const char* name, char* text, int capacity) {
  char path[512];
  std::snprintf(path, sizeof path, "%s/cache/index%d/%s", folder, index, name);
  FILE* const file = std::fopen(path, "re");
  if (file == nullptr) {
    return false;
  }
  const bool got = std::fgets(text, capacity, file) != nullptr;
  std::fclose(file);
  return got;
}

// "48K", "2M", "1024".
int64_t parse_size(const char* text) {
  char* end = nullptr;
  const int64_t number = std::strtoll(text, &end, 10);
  const int64_t unit = *end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : *end == 'G' ? 1 << 30 : 1;
  return number > 0 && number <= INT32_MAX ? number * unit : 0;
}

// "0-3,8-11" holds 8.
int64_t count_cpus(const char* list) {
  int64_t count = 0;
  while (*list >= '0' && *list <= '9') {
    char* end = nullptr;
    const int64_t first = std::strtoll(list, &end, 10);
    const int64_t last = *end == '-' ? std::strtoll(end + 1, &end, 10) : first;
    count += last >= first ? last - first + 1 : 0;
    list = *end == ',' ? end + 1 : end;
  }
  return count > 0 ? count : 1;
}

int32_t share(int64_t bytes, int64_t cores, int64_t limit) {
  const int64_t part = bytes / (cores > 0 ? cores : 1);
  return static_cast<int32_t>(part < limit ? part : limit);
}

}  // namespace

CacheSizes read_caches(const char* cpu_folder) {
  Cache level[4];
  for (int index = 0; index < kMaxIndices; ++index) {
    char text[256];
    if (!read_text(cpu_folder, index, "level", text, sizeof text)) {
      break;
    }
    const long number = std::strtol(text, nullptr, 10);
    if (number < 1 || number > 3 || !read_text(cpu_folder, index, "type", text, sizeof text) ||
        std::strncmp(text, "Instruction", 11) == 0 || !read_text(cpu_folder, index, "size", text, sizeof text)) {
      continue;
    }
    level[number].bytes = parse_size(text);
    level[number].sharers = read_text(cpu_folder, index, "shared_cpu_list", text, sizeof text) ? count_cpus(text) : 1;
  }
  if (level[1].bytes == 0) {
    return {kFallbackL1d,
            level[2].bytes != 0 ? share(level[2].bytes, level[2].sharers, INT32_MAX) : int32_t{kFallbackL2}, 0};
  }
  // The CPUs that share the first level are threads of one core.
  return {share(level[1].bytes, 1, INT32_MAX), share(level[2].bytes, level[2].sharers / level[1].sharers, INT32_MAX),
          share(level[3].bytes, level[3].sharers, kMaxL3Share)};
}

}  // namespace temper
