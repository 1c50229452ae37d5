// A device that boots on given storage and tables: the C API over the toy kernels, with a simulated clock. What the
// loaders and their samples are tried with. Host only, no test framework.
#pragma once

#include <span>
#include <vector>

#include "runtime/fingerprint.h"
#include "temper/temper.h"
#include "tests/runtime/toy_matmul.h"

namespace temper::test {

inline constexpr uint32_t kBootWorkloads = 3;
inline constexpr uint64_t kBootTarget = 7, kBootKey = kToyWorkloadKey;

/// The toy matmul under three keys, kBootKey and the two behind it.
const std::vector<uint8_t>& boot_pack();
/// Of a device with that target.
Fingerprint boot_fingerprint(uint64_t target = kBootTarget);

class FirstBoot {
 public:
  struct Options {
    const temper_storage* storage = nullptr;
    std::span<const temper_table> tables = {};
    uint64_t target = kBootTarget;
    const temper_pack* pack = nullptr;  ///< nullptr: boot_pack
  };
  explicit FirstBoot(const Options& options);
  FirstBoot(const FirstBoot&) = delete;
  FirstBoot& operator=(const FirstBoot&) = delete;

  temper_status status() const { return status_; }
  temper_context* context() { return context_; }

  /// Takes the memory that candidates want; false when that is more than `most_bytes` or the run cannot start.
  bool start(const temper_budget& budget, size_t most_bytes = size_t{1} << 20);
  temper_status step();
  /// To the end. TEMPER_MORE when that does not come.
  temper_status run();

 private:
  std::vector<uint8_t> arena_, memory_;
  temper_port port_{};
  temper_config config_{};
  temper_context* context_ = nullptr;
  temper_status status_ = TEMPER_OK;
};

}  // namespace temper::test
