// Every loader of foreign bytes, each as a function over bytes that returns 0 and ends the process when something it
// promises is broken (demand.h). Called by the fuzzers, by the replay of their corpora and by the damage suites.
// One more loader: its function, its line in kLoaders (loaders.cc), a folder of seeds (write_seeds.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace temper::test {

using Bytes = std::vector<uint8_t>;

/// As a device reads them.
int fuzz_history(const uint8_t* data, size_t size);  ///< as a file and as flash: scan, append, look-ups, a resumed run
int fuzz_table(const uint8_t* data, size_t size);    ///< all entries, found and not found; look-ups behind a history
int fuzz_winners(const uint8_t* data, size_t size);  ///< plans over a fixed kernel table, constants packed
int fuzz_pack(const uint8_t* data, size_t size);     ///< every space: legality, default, samples, shapes, plans

/// As the command reads them.
int fuzz_history_source(const uint8_t* data, size_t size);  ///< file, console dump or flash image; records; merge
int fuzz_workloads(const uint8_t* data, size_t size);       ///< .workloads, and the spaces of what they hold
int fuzz_options(const uint8_t* data, size_t size);         ///< durations, numbers, shapes, linkers' maps

struct Loader {
  std::string_view name;
  int (*run)(const uint8_t* data, size_t size);
  /// Makes checksums right again, so that what lies behind them is tried; what the format cannot be repaired to stays.
  void (*repair)(Bytes* bytes, uint32_t seed);
};

std::span<const Loader> all_loaders();
/// nullptr when there is none of that name.
const Loader* find_loader(std::string_view name);

}  // namespace temper::test
