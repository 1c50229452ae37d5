#include "schedules/templates.h"

#include <algorithm>
#include <bit>

namespace temper {
namespace {

bool depthwise(const Conv2dShape& s) { return s.groups > 1 && s.groups == s.channels && s.groups == s.out_channels; }

/// Activation and its bounds from `first` on: kGemmActivation and kDwActivation are each followed by low and high.
void set_activation(std::vector<int32_t>& dims, size_t first, const Epilogue& epilogue) {
  dims[first] = static_cast<int32_t>(epilogue.activation);
  dims[first + 1] = std::bit_cast<int32_t>(epilogue.low);
  dims[first + 2] = std::bit_cast<int32_t>(epilogue.high);
}

void set_matmul_batch(std::vector<int32_t>& dims, const MatmulShape& s) {
  const bool constant_over_batch = (s.a_constant && s.a_shared) || (s.b_constant && s.b_shared);
  const int32_t stride_a = s.a_shared || s.batch == 1 ? 0 : s.m * s.k;
  const int32_t stride_b = s.b_shared || s.batch == 1 ? 0 : s.k * s.n;
  const int32_t stride_c = s.batch == 1 ? 0 : s.m * s.n;
  dims[kGemmBatch] = s.batch;
  dims[kGemmBatchInner] = constant_over_batch ? 1 : s.batch;
  dims[constant_over_batch ? kGemmAOuter : kGemmAInner] = stride_a;
  dims[constant_over_batch ? kGemmBOuter : kGemmBInner] = stride_b;
  dims[constant_over_batch ? kGemmCOuter : kGemmCInner] = stride_c;
  // Packed constants are indexed by g inner alone, so one that varies over the batch beside a shared one stays
  // unpacked.
  dims[kGemmAConstant] = s.a_constant && (s.a_shared || !constant_over_batch || s.batch == 1);
  dims[kGemmBConstant] = s.b_constant && (s.b_shared || !constant_over_batch || s.batch == 1);
}

std::vector<int32_t> matmul_dims(MatmulShape s, const Epilogue& epilogue) {
  if (s.b_shared && !s.a_shared && !s.transpose_a && s.batch > 1) {  // rows of all batches follow each other
    s.m *= s.batch;
    s.batch = 1;
  }
  std::vector<int32_t> dims(kGemmDimCount, 0);
  dims[kGemmM] = s.m;
  dims[kGemmN] = s.n;
  dims[kGemmK] = s.k;
  set_matmul_batch(dims, s);
  dims[kGemmAM] = s.transpose_a ? 1 : s.k;
  dims[kGemmAK] = s.transpose_a ? s.m : 1;
  dims[kGemmBK] = s.transpose_b ? 1 : s.n;
  dims[kGemmBN] = s.transpose_b && s.n > 1 ? s.k : 1;
  dims[kGemmCM] = s.n;
  dims[kGemmCN] = 1;
  dims[kGemmBias] = epilogue.bias ? kBiasAlongN : kBiasNone;
  dims[kGemmASource] = TEMPER_IN_A;
  return dims;
}

bool plain_view(const Conv2dShape& s) {
  return s.kernel_h == 1 && s.kernel_w == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_top == 0 &&
         s.pad_left == 0 && s.pad_bottom == 0 && s.pad_right == 0;
}

void set_image(std::vector<int32_t>& dims, const Conv2dShape& s) {
  const bool nhwc = s.layout == Layout::kNhwc;
  dims[kGemmView] = nhwc ? kViewImageIsA : kViewImageIsB;
  dims[kGemmImageH] = s.height;
  dims[kGemmImageW] = s.width;
  dims[kGemmOutW] = s.out_width();
  dims[kGemmKernelH] = s.kernel_h;
  dims[kGemmKernelW] = s.kernel_w;
  dims[kGemmStrideH] = s.stride_h;
  dims[kGemmStrideW] = s.stride_w;
  dims[kGemmPadTop] = s.pad_top;
  dims[kGemmPadLeft] = s.pad_left;
  dims[kGemmDilationH] = s.dilation_h;
  dims[kGemmDilationW] = s.dilation_w;
  dims[kGemmImageC] = s.channels / s.groups;
  dims[kGemmImageChannelStride] = nhwc ? 1 : s.height * s.width;
  dims[kGemmImageRowStride] = nhwc ? s.width * s.channels : s.width;
  dims[kGemmImagePixelStride] = nhwc ? s.channels : 1;
}

/// NCHW: A is the filter, B the image, m = out channels of the group, n = pixels.
void set_nchw(std::vector<int32_t>& dims, const Conv2dShape& s, bool plain) {
  const int32_t group_in = s.channels / s.groups, group_out = s.out_channels / s.groups;
  const int32_t k = group_in * s.kernel_h * s.kernel_w, pixels = s.out_height() * s.out_width();
  dims[kGemmM] = group_out;
  dims[kGemmN] = pixels;
  dims[kGemmK] = k;
  dims[kGemmAInner] = s.groups > 1 ? group_out * k : 0;
  dims[kGemmAM] = k;
  dims[kGemmAK] = 1;
  dims[kGemmBOuter] = s.channels * s.height * s.width;
  dims[kGemmBInner] = s.groups > 1 ? group_in * s.height * s.width : 0;
  dims[kGemmBK] = plain ? pixels : 0;
  dims[kGemmBN] = plain ? 1 : 0;
  dims[kGemmCOuter] = s.out_channels * pixels;
  dims[kGemmCInner] = s.groups > 1 ? group_out * pixels : 0;
  dims[kGemmCM] = pixels;
  dims[kGemmCN] = 1;
  dims[kGemmAConstant] = s.filter_constant;
  dims[kGemmASource] = TEMPER_IN_B;
}

/// NHWC: A is the image, B the filter, m = pixels, n = out channels of the group.
void set_nhwc(std::vector<int32_t>& dims, const Conv2dShape& s, bool plain) {
  const int32_t group_in = s.channels / s.groups, group_out = s.out_channels / s.groups;
  const int32_t k = group_in * s.kernel_h * s.kernel_w, pixels = s.out_height() * s.out_width();
  dims[kGemmM] = pixels;
  dims[kGemmN] = group_out;
  dims[kGemmK] = k;
  dims[kGemmAOuter] = s.channels * s.height * s.width;
  dims[kGemmAInner] = s.groups > 1 ? group_in : 0;
  dims[kGemmAM] = plain ? s.channels : 0;
  dims[kGemmAK] = plain ? 1 : 0;
  dims[kGemmBInner] = s.groups > 1 ? group_out * k : 0;
  dims[kGemmBK] = s.kernel_h * s.kernel_w;
  dims[kGemmBN] = group_out > 1 ? k : 1;
  dims[kGemmCOuter] = s.out_channels * pixels;
  dims[kGemmCInner] = s.groups > 1 ? group_out : 0;
  dims[kGemmCM] = s.out_channels;
  dims[kGemmCN] = 1;
  dims[kGemmBConstant] = s.filter_constant;
  dims[kGemmASource] = TEMPER_IN_A;
}

std::vector<int32_t> conv_dims(const Conv2dShape& s, const Epilogue& epilogue) {
  std::vector<int32_t> dims(kGemmDimCount, 0);
  const bool plain = plain_view(s), nhwc = s.layout == Layout::kNhwc;
  dims[kGemmBatch] = s.batch * s.groups;
  dims[kGemmBatchInner] = s.groups;
  if (!plain) {
    set_image(dims, s);
  }
  (nhwc ? set_nhwc : set_nchw)(dims, s, plain);
  if (epilogue.bias) {
    dims[kGemmBias] = nhwc ? kBiasAlongN : kBiasAlongM;
    dims[kGemmBiasInner] = s.groups > 1 ? s.out_channels / s.groups : 0;
  }
  return dims;
}

std::vector<int32_t> depthwise_dims(const Conv2dShape& s, const Epilogue& epilogue) {
  const bool nhwc = s.layout == Layout::kNhwc;
  const int32_t out_h = s.out_height(), out_w = s.out_width(), c = s.channels;
  std::vector<int32_t> dims = {s.batch,
                               c,
                               s.height,
                               s.width,
                               out_h,
                               out_w,
                               s.kernel_h,
                               s.kernel_w,
                               s.stride_h,
                               s.stride_w,
                               s.pad_top,
                               s.pad_left,
                               s.dilation_h,
                               s.dilation_w,
                               c * s.height * s.width,
                               nhwc ? 1 : s.height * s.width,
                               nhwc ? s.width * c : s.width,
                               nhwc ? c : 1,
                               c * out_h * out_w,
                               nhwc ? 1 : out_h * out_w,
                               nhwc ? out_w * c : out_w,
                               nhwc ? c : 1,
                               s.filter_constant,
                               nhwc,
                               epilogue.bias};
  dims.resize(kDwDimCount, 0);
  dims[kDwAddend] = epilogue.addend;
  set_activation(dims, kDwActivation, epilogue);
  return dims;
}

template <typename... Dim>
constexpr uint64_t bits_of(Dim... dims) {
  return ((uint64_t{1} << dims) | ...);
}

}  // namespace

DimRoleBits dim_roles(TemplateId id) {
  if (id == TemplateId::kDepthwise) {
    return {bits_of(kDwBatch, kDwC, kDwOutH, kDwOutW),
            bits_of(kDwKernelH, kDwKernelW, kDwStrideH, kDwStrideW, kDwPadTop, kDwPadLeft, kDwDilationH, kDwDilationW,
                    kDwFilterConstant, kDwChannelsLast, kDwBias, kDwAddend, kDwActivation, kDwClipLow, kDwClipHigh)};
  }
  return {bits_of(kGemmBatch, kGemmM, kGemmN, kGemmK),
          bits_of(kGemmAConstant, kGemmBConstant, kGemmView, kGemmKernelH, kGemmKernelW, kGemmStrideH, kGemmStrideW,
                  kGemmPadTop, kGemmPadLeft, kGemmDilationH, kGemmDilationW, kGemmBias, kGemmAddend, kGemmActivation,
                  kGemmClipLow, kGemmClipHigh, kGemmASource)};
}

TemplateId template_of(const Workload& workload) {
  return workload.op == Operator::kConv2d && depthwise(workload.conv) ? TemplateId::kDepthwise : TemplateId::kGemm;
}

std::vector<int32_t> dims_of(const Workload& workload) {
  if (template_of(workload) == TemplateId::kDepthwise) {
    return depthwise_dims(workload.conv, workload.epilogue);
  }
  std::vector<int32_t> dims = workload.op == Operator::kMatmul ? matmul_dims(workload.matmul, workload.epilogue)
                                                               : conv_dims(workload.conv, workload.epilogue);
  for (GemmDim one : {kGemmKernelH, kGemmKernelW, kGemmStrideH, kGemmStrideW, kGemmDilationH, kGemmDilationW}) {
    dims[one] = std::max(dims[one], 1);  // 0 where there is no image
  }
  dims[kGemmAddend] = workload.epilogue.addend;
  set_activation(dims, kGemmActivation, workload.epilogue);
  return dims;
}

}  // namespace temper
