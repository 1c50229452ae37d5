// How a candidate's correctness is checked on the device: small-integer inputs, a poisoned and guarded output, a
// digest. Called by runners and, to compute the expected digest, by the host's reference. Never allocates.
#pragma once

#include <cstdint>

#include "runtime/span.h"
#include "temper/kernel.h"

namespace temper {

inline constexpr uint32_t kGuardElements = 16;  ///< before and after each output

/// Fills a tensor with integers in [-8, 7], a function of (which, index) alone: sums stay exact in f32 while the
/// reduction is shorter than 2^18, whatever the order of summation.
void fill_small_integers(temper_tensor which, Span<float> tensor);

/// Signalling-NaN pattern over output and guards. `guarded` includes kGuardElements on both sides.
void poison(Span<float> guarded);
/// True while every guard element still holds the poison.
bool guards_intact(Span<const float> guarded);
/// A number of whole words that differs whenever one word does: for what nobody may have written to.
uint32_t fold(const uint8_t* data, size_t bytes);
/// CRC-32 over the elements as little-endian f32, with -0 counted as 0.
uint32_t digest(Span<const float> output);

}  // namespace temper
