// A small matmul pack with kernels written by hand, for tests of the C API: they add to a simulated clock what they
// would cost, so that the best config is known, and one variant computes something wrong. Host only.
#pragma once

#include <cstdint>
#include <vector>

#include "temper/port.h"
#include "tests/runtime/test_pack.h"

namespace temper::test {

/// Knobs in the order of the kernel's arguments, behind the dims M, N, K. The tile is compile knob 0, packing compile
/// knob 1.
enum ToyKnob : uint8_t { kToyTile = 0, kToyPacked, kToyBlock };
enum ToyKernel : uint16_t { kToyRight = 0, kToyWrong, kToyOutside, kToyKernelCount };

inline constexpr int32_t kToyM = 12, kToyN = 10, kToyK = 7;
inline constexpr uint64_t kToyWorkloadKey = 0xABCD;

extern const temper_kernel toy_kernels[kToyKernelCount];

/// A workload "toy", its digest that of the definition, and variants: (1, plain), (2, plain), (4, packed) right; (4,
/// plain) wrong; (2, packed) writes outside its output. Default: tile 1, plain, block 4. Best: tile 4, packed.
TestPack toy_pack();
/// out[M, N] = a[M, K] * b[K, N]
void toy_reference(const float* a, const float* b, float* out);

/// The simulated clock: every reading costs 20 ns, kernels add what they cost.
struct ToyClock {
  static uint64_t now_ns;
  static uint32_t kernel_calls;
  static void reset();
  static temper_port port(const temper_storage* storage);
};

}  // namespace temper::test
