#include "runtime/pack_layout.h"

namespace temper {

// numbers: groups, group stride, n, n stride, n block, then count and stride of k0, k1, k2.
uint32_t packed_bytes_of(const int32_t numbers[kLayoutNumbers], uint32_t elements) {
  const int32_t block = numbers[4];
  uint32_t last = 0, bytes = sizeof(float);
  for (uint32_t i = 0; i < kLayoutNumbers; i += i == 2 ? 3u : 2u) {
    if (numbers[i] <= 0 || numbers[i + 1] < 0 || block <= 0) {
      return 0;
    }
    uint32_t count = static_cast<uint32_t>(numbers[i]);
    uint32_t span;
    if (__builtin_mul_overflow(count - 1, static_cast<uint32_t>(numbers[i + 1]), &span) ||
        __builtin_add_overflow(last, span, &last)) {
      return 0;
    }
    if (i == 2) {  // n, in whole blocks
      count += static_cast<uint32_t>(block) - 1;
      count -= count % static_cast<uint32_t>(block);
    }
    if (last >= elements || __builtin_mul_overflow(bytes, count, &bytes) || bytes > INT32_MAX) {
      return 0;
    }
  }
  return bytes;
}

}  // namespace temper
