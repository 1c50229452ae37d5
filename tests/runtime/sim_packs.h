// Packs and units that the tests of the tuners share. Host only.
#pragma once

#include <string>
#include <vector>

#include "tests/runtime/test_pack.h"

namespace temper::test {

inline constexpr uint64_t kMillisecond = 1000000;
inline constexpr uint64_t kSecond = 1000 * kMillisecond;

/// The values 1..count.
inline std::vector<uint16_t> up_to(uint16_t count) {
  std::vector<uint16_t> values;
  for (uint16_t i = 1; i <= count; ++i) {
    values.push_back(i);
  }
  return values;
}

/// Every workload shares one template.
inline TestPack many_workloads(uint32_t count, const std::vector<std::vector<uint16_t>>& knobs) {
  TestPack pack = plain_pack(knobs);
  const TestWorkload first = pack.workloads[0];
  pack.workloads.clear();
  for (uint32_t i = 0; i < count; ++i) {
    TestWorkload workload = first;
    workload.key = 1000 + i;
    workload.name = "workload" + std::to_string(i);
    workload.flops = 1000000 + i;
    pack.workloads.push_back(workload);
  }
  return pack;
}

}  // namespace temper::test
