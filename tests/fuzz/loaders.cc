#include "tests/fuzz/loaders.h"

#include "tests/fuzz/repair.h"

namespace temper::test {
namespace {

constexpr Loader kLoaders[] = {
    {"history", fuzz_history, repair_history},
    {"table", fuzz_table, repair_table},
    {"winners", fuzz_winners, repair_table},
    {"pack", fuzz_pack, repair_pack},
    {"history_source", fuzz_history_source, repair_source},
    {"workloads", fuzz_workloads, leave_alone},
    {"options", fuzz_options, leave_alone},
};

}  // namespace

std::span<const Loader> all_loaders() { return kLoaders; }

const Loader* find_loader(std::string_view name) {
  for (const Loader& loader : kLoaders) {
    if (loader.name == name) {
      return &loader;
    }
  }
  return nullptr;
}

}  // namespace temper::test
