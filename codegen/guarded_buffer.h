// Memory for a tensor of a candidate that may write anywhere: 64-byte aligned, guard elements around it, and unreadable
// pages right behind the guard and in front. Called by worker_bench. Never grows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/check.h"
#include "runtime/span.h"

namespace temper {

class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// `elements` may be 0: nothing is mapped and data() is nullptr. empty() afterwards when there is no memory.
  explicit GuardedBuffer(size_t elements);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  bool empty() const { return elements_ == 0; }
  float* data() const { return data_; }
  Span<float> tensor() const { return {data_, elements_}; }
  /// From now on a write into it, guards included, ends the process. False when the system refuses.
  [[nodiscard]] bool make_read_only();
  /// With kGuardElements on both sides.
  Span<float> guarded() const;
  /// Memory that it occupies; the unreadable pages are addresses only.
  size_t occupied_bytes() const { return occupied_bytes_; }

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  size_t occupied_bytes_ = 0;
  float* data_ = nullptr;
  size_t elements_ = 0;
};

}  // namespace temper
