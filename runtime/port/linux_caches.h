// The data caches of one CPU as sysfs tells them. Called by the probe of the facts; the folder is an argument so that
// tests can lay out machines of their own.
#pragma once

#include <cstdint>

namespace temper {

struct CacheSizes {
  int32_t l1d_bytes, l2_bytes, l3_bytes;  ///< share of one core
};

inline constexpr int32_t kMaxL3Share = 32 << 20;  ///< what a virtual machine says beyond that belongs to others

/// `cpu_folder` is like "/sys/devices/system/cpu/cpu0". Where there is nothing to read: 32 KiB, 256 KiB and none.
CacheSizes read_caches(const char* cpu_folder);

}  // namespace temper
