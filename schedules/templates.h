// The templates: what their dims and knobs mean, and the data of their spaces. The loop nest of a template (nests.h),
// its kernel (codegen) and its space programs (spaces.h) agree on these numbers and on nothing else. Ids and order are
// persisted in packs and histories: append only; a change of meaning raises the template's version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/workload.h"

namespace temper {

enum class TemplateId : uint16_t {
  kGemm = 1,  ///< matmul, and convolution as a matmul whose activation operand is read through an image-to-rows view
  kDepthwise = 2,  ///< convolution with one input and one output channel per group: direct, no reuse over channels
};

/// Dims of kGemm: out[g, m, n] = sum over k of a[g, m, k] * b[g, k, n], g = batch or image x group. All counts in
/// elements. A convolution maps to it with m = out channels, n = pixels in NCHW; m = pixels, n = out channels in NHWC.
/// Its 1x1 stride-1 unpadded form is a plain strided matmul (view kPlain); every other reads the image through the view
/// kImage.
// Rows of the enums below group what belongs together.
// clang-format off
enum GemmDim : uint8_t {
  kGemmBatch = 0,     ///< g
  kGemmM, kGemmN, kGemmK,
  kGemmBatchInner,    ///< g = outer * inner + i: inner is the group count of a convolution, 1 otherwise
  kGemmAOuter, kGemmAInner, kGemmAM, kGemmAK,  ///< strides of A over g outer, g inner, m, k (kPlain operands)
  kGemmBOuter, kGemmBInner, kGemmBK, kGemmBN,
  kGemmCOuter, kGemmCInner, kGemmCM, kGemmCN,  ///< of the output and the addend
  kGemmAConstant, kGemmBConstant,              ///< 1: known before execution, may be packed once
  kGemmView,          ///< GemmView: which operand is an image
  kGemmImageH, kGemmImageW, kGemmOutW,         ///< image height and width, output width (pixel = oh * out_w + ow)
  kGemmKernelH, kGemmKernelW,
  kGemmStrideH, kGemmStrideW, kGemmPadTop, kGemmPadLeft, kGemmDilationH, kGemmDilationW,
  kGemmImageC,        ///< channels of the image per group; k = (c * kernel_h + kh) * kernel_w + kw in NCHW,
                      ///< (kh * kernel_w + kw) * c_count + c in NHWC
  kGemmImageChannelStride, kGemmImageRowStride, kGemmImagePixelStride,
  kGemmBias,          ///< GemmBias: 0 none, 1 along m, 2 along n
  kGemmBiasInner,     ///< stride of the bias over g inner
  kGemmAddend,        ///< 1: out += addend before the activation
  kGemmActivation,    ///< Activation
  kGemmClipLow, kGemmClipHigh,  ///< bits of f32
  kGemmASource,       ///< temper_tensor that holds A: TEMPER_IN_B where A is the filter (NCHW), else TEMPER_IN_A; B is the other
  kGemmDimCount
};
/// An image operand: its strides over g outer and g inner stand in AOuter, AInner (BOuter, BInner); its m (n) and k
/// strides are 0, the image strides replace them. The filter beside it is OIHW: as A (NCHW) its k stride is 1; as B
/// (NHWC) with kViewImageIsA its k offset is (c * kernel_h + kh) * kernel_w + kw and kGemmBK is the stride of c,
/// kernel_h * kernel_w; kDirect B is illegal then. Without an image (kPlain) the image dims are 0, strides and
/// dilations 1, kernel 1x1. N = 1 makes kGemmBN and kGemmCN 1.
enum GemmView : uint8_t { kViewPlain = 0, kViewImageIsA = 1, kViewImageIsB = 2 };
enum GemmBias : uint8_t { kBiasNone = 0, kBiasAlongM = 1, kBiasAlongN = 2 };
static_assert(kGemmDimCount <= TEMPER_MAX_DIMS, "dims are bounded by the kernel ABI");

/// How a matmul batch maps to g: inner (outer = 1) unless a constant operand is shared over the batch, then outer
/// (inner = 1); packed constants are indexed by g inner alone. A batch over a shared B with contiguous rows folds into
/// m.
///
/// Blocks: block_m = min(round_up(knob, tile m), round_up(M, tile m)), block_n alike with tile n = vectors * lanes,
/// block_k = min(knob, K). The grid is batch * ceil(M / block_m) * ceil(N / block_n), item = (g * m_blocks + mb) *
/// n_blocks + nb. Workspace of a work item, floats: A part block_m * block_k when A is kPanel or kRows, rounded up to
/// 64 bytes; then B part block_n * block_k when B is kPanel, likewise.

/// Knobs of kGemm. Compile knobs come first.
enum GemmKnob : uint8_t {
  kKnobTileM = 0,    ///< compile: rows of the register tile
  kKnobTileVectors,  ///< compile: vectors across n in the register tile
  kKnobLanes,        ///< compile: f32 lanes of a vector
  kKnobUnrollK,      ///< compile
  kKnobA,            ///< compile: GemmOperand: how the register tile reads A
  kKnobB,            ///< compile: GemmOperand: how it reads B
  kKnobBlockM,       ///< run: rows per work item, rounded up to tile m; values above M mean M
  kKnobBlockN,       ///< run: columns per work item, rounded up to tile n; values above N mean N
  kKnobBlockK,       ///< run: depth per pass; values above K mean K
  kKnobInnerLoop,    ///< run: 0: m innermost inside a block (B panel stays), 1: n innermost (A panel stays)
  kGemmKnobCount
};
/// kDirect: in place, through strides (B needs unit n stride, or one lane; no image). kPanel: packed per block into the
/// workspace, [tiles][k][tile]. kRows: A only, where it is an image: packed per block as [m][k] rows (image-to-rows
/// without a transpose). kConstant: packed once per plan as [g inner][tiles][K][tile], zero-padded to whole tiles; at
/// most one operand of a config is kConstant.
enum GemmOperand : uint8_t { kDirect = 0, kPanel = 1, kRows = 2, kConstant = 3 };

/// Grid of kDepthwise: NHWC: batch * ceil(OH / rows) * ceil(C / (vectors * lanes)); NCHW: batch * C * ceil(OH / rows).
/// No workspace. The filter is packed once (constant) as [ceil(C / block)][kh][kw][block], block = vectors * lanes in
/// NHWC; unpacked in NCHW, with one lane, and when it is not constant. Dims of kDepthwise: out[n, c, oh, ow] by strides;
/// filter [c, kernel_h, kernel_w], constant packed as [c / block][kh][kw][block].
enum DepthwiseDim : uint8_t {
  kDwBatch = 0, kDwC, kDwInH, kDwInW, kDwOutH, kDwOutW,
  kDwKernelH, kDwKernelW, kDwStrideH, kDwStrideW, kDwPadTop, kDwPadLeft, kDwDilationH, kDwDilationW,
  kDwInN, kDwInC, kDwInRow, kDwInPixel,     ///< strides of the image
  kDwOutN, kDwOutC, kDwOutRow, kDwOutPixel, ///< strides of output and addend
  kDwFilterConstant,
  kDwChannelsLast,    ///< 1: NHWC, vectors run over channels; 0: NCHW, vectors run over ow
  kDwBias, kDwAddend, kDwActivation, kDwClipLow, kDwClipHigh,
  kDwDimCount
};
enum DepthwiseKnob : uint8_t {
  kDwKnobTileW = 0,  ///< compile: output pixels along ow per register tile (NHWC); vectors along ow (NCHW)
  kDwKnobTileH,      ///< compile: output rows per register tile
  kDwKnobVectors,    ///< compile: vectors across channels (NHWC)
  kDwKnobLanes,      ///< compile
  kDwKnobOrder,      ///< run: 0: a work item is a channel block, rows inside; 1: rows outside, channel blocks inside
  kDwKnobRows,       ///< run: output rows per work item
  kDepthwiseKnobCount
};
// clang-format on

/// By dim: its value where that is a constant of the code; nothing where it is an argument. Empty: all are arguments.
using FixedDims = std::vector<std::optional<int32_t>>;

TemplateId template_of(const Workload& workload);
/// What the template's dims mean where shapes are compared: extents and parameters, a bit per dim; the others follow.
struct DimRoleBits {
  uint64_t extents, parameters;
};
DimRoleBits dim_roles(TemplateId id);
/// dims in the order of the template's enum.
std::vector<int32_t> dims_of(const Workload& workload);

}  // namespace temper
