// Real files to damage: written by the code that writes them for users. Every call gives the same bytes. Host only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "temper/winners.h"

namespace temper::test {

/// How the storage of a history is made.
struct Geometry {
  uint32_t size_bytes, program_bytes, erase_bytes;
};
inline constexpr Geometry kFileGeometry = {1u << 16, 1, 0};
inline constexpr Geometry kFlashGeometry = {1u << 14, 8, 1u << 10};
inline constexpr Geometry kSmallFlashGeometry = {1u << 13, 8, 1u << 10};  ///< two regions of 4 KB

/// Several boots of a device: three workloads, three fingerprints, commits, a config in quarantine, an intent left
/// open. Without an erased tail.
std::vector<uint8_t> sample_boots(const Geometry& geometry);
/// On kSmallFlashGeometry: what sample_boots leaves in the first region, and moved to the second, generation 2, with
/// its second header.
std::vector<uint8_t> sample_two_regions();
/// The table of a lab's device, the same as boot_fingerprint() tells or another one.
std::vector<uint8_t> sample_table(uint64_t target);
/// Baked for winners_over(): plans with and without packed constants.
std::vector<uint8_t> sample_baked_table();
/// The kernels and constants that sample_baked_table() names.
temper_winners winners_over(const uint8_t* table, size_t bytes);
inline constexpr uint32_t kWinnerKernels = 2, kWinnerConstants = 3;
/// What `temper build` writes for a small network, as the host's compiler would use it: no variants, features kept.
std::vector<uint8_t> sample_pack();
/// With variants, reduced, for a microcontroller.
std::vector<uint8_t> sample_board_pack();
std::string sample_console_log();
std::string sample_workloads();

}  // namespace temper::test
