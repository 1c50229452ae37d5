// A workload on the host: one operator with shapes, layout and fused epilogue; its canonical text, key and dims.
// Made by the importers and network files; everything below sees only the dims (schedules/templates.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schedules/result.h"
#include "temper/kernel.h"

namespace temper {

enum class Operator : uint8_t { kMatmul = 1, kConv2d = 2 };
enum class Layout : uint8_t {
  kNchw = 0,
  kNhwc = 1
};  ///< of image and output of a convolution; filters are always OIHW
enum class Activation : uint8_t { kNone = 0, kRelu = 1, kClip = 2 };

/// out = activation(result + bias + addend). Bias runs along output channels (convolution) or N (matmul).
struct Epilogue {
  bool bias = false;
  bool addend = false;  ///< same shape and layout as the output
  Activation activation = Activation::kNone;
  float low = 0.0f, high = 0.0f;  ///< of clip

  bool operator==(const Epilogue&) const = default;
};

/// out[batch, m, n] = a[batch, m, k] * b[batch, k, n]. A transposed operand is stored as [batch, k, m] or [batch, n,
/// k]. A shared operand has no batch dimension.
struct MatmulShape {
  int32_t batch = 1, m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
  bool a_shared = false, b_shared = false;
  bool a_constant = false, b_constant = false;  ///< known before execution: packed once

  bool operator==(const MatmulShape&) const = default;
};

/// Filters [out_channels, channels / groups, kernel_h, kernel_w]; constant unless said otherwise.
struct Conv2dShape {
  int32_t batch = 1, channels = 1, height = 1, width = 1, out_channels = 1;
  int32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;
  int32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int32_t dilation_h = 1, dilation_w = 1, groups = 1;
  Layout layout = Layout::kNchw;
  bool filter_constant = true;

  int32_t out_height() const {
    return (height + pad_top + pad_bottom - dilation_h * (kernel_h - 1) - 1) / stride_h + 1;
  }
  int32_t out_width() const { return (width + pad_left + pad_right - dilation_w * (kernel_w - 1) - 1) / stride_w + 1; }
  bool operator==(const Conv2dShape&) const = default;
};

struct Workload {
  Operator op = Operator::kMatmul;
  MatmulShape matmul;  ///< when op is kMatmul
  Conv2dShape conv;    ///< when op is kConv2d
  Epilogue epilogue;

  bool operator==(const Workload&) const = default;
};

/// Sizes positive, tensors below 2^31 bytes, output not empty, groups dividing channels, clip ordered. The message
/// names what is wrong.
Result<Workload> validated(const Workload& workload);

/// One line, unique for a workload, stable over versions; parse_workload inverts it. For instance
/// "conv2d f32 nchw 1x3x224x224 o32 k3x3 s2x2 p1,1,1,1 d1x1 g1 bias clip(0,6)" or "matmul f32 1x128x768x768 bconst
/// bias". Images are written batch x channels x height x width in either layout, padding top, left, bottom, right,
/// matmuls batch x m x k x n. Only the canonical form of a valid workload parses.
std::string canonical_text(const Workload& workload);
Result<Workload> parse_workload(const std::string& text);
/// FNV-1a 64 of the canonical text.
uint64_t workload_key(const Workload& workload);

/// Multiply-adds counted twice; epilogue not counted.
uint64_t flops(const Workload& workload);
/// Elements by temper_tensor; 0 = absent.
std::array<uint32_t, TEMPER_TENSOR_COUNT> tensor_elements(const Workload& workload);
/// "matmul", "conv2d"; shape for tables: "1x3x224x224 -> 32, 3x3 s2".
std::string operator_name(const Workload& workload);
std::string shape_text(const Workload& workload);
/// "bias add relu"; "-" where nothing follows the sums.
std::string epilogue_text(const Workload& workload);
/// Length of the longest sum; for tolerances.
int64_t reduction_length(const Workload& workload);

}  // namespace temper
