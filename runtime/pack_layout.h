// What a layout of a packed constant (temper_plan::pack_layout) reads and takes. Called where plans are made and where
// baked ones are verified; knows no operator.
#pragma once

#include <cstdint>

namespace temper {

inline constexpr uint32_t kLayoutNumbers = 11;

/// Bytes of the packed form of a tensor of `elements`; 0 when the numbers are no layout (counts positive, strides not
/// negative), when it would read past the tensor, or when the packed form does not fit into 31 bits.
uint32_t packed_bytes_of(const int32_t numbers[kLayoutNumbers], uint32_t elements);

}  // namespace temper
