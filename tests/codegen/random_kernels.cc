#include "tests/codegen/random_kernels.h"

#include <algorithm>

namespace temper {
namespace {

int32_t length(std::mt19937& random) { return random() % 4 == 0 ? 1 : between(random, 1, 70); }

void random_epilogue(std::mt19937& random, Workload& workload) {
  Epilogue& epilogue = workload.epilogue;
  epilogue.bias = random() % 2 == 0;
  epilogue.addend = random() % 3 == 0;
  epilogue.activation = static_cast<Activation>(random() % 3);
  if (epilogue.activation == Activation::kClip) {
    epilogue.low = -3.0f;
    epilogue.high = 6.0f;
  }
}

/// Window, strides, dilations, padding and an image that holds the window.
void random_window(std::mt19937& random, Conv2dShape& s) {
  s.kernel_h = pick(random, {1, 1, 2, 3, 3, 5});
  s.kernel_w = pick(random, {1, 1, 3, 3, 4, 9});
  s.stride_h = pick(random, {1, 1, 2, 3});
  s.stride_w = pick(random, {1, 1, 2, 3});
  s.dilation_h = pick(random, {1, 1, 2});
  s.dilation_w = pick(random, {1, 1, 2});
  s.pad_top = between(random, 0, 3);
  s.pad_left = between(random, 0, 3);
  s.pad_bottom = between(random, 0, 3);
  s.pad_right = between(random, 0, 3);
  s.height = std::max(between(random, 1, 13), s.dilation_h * (s.kernel_h - 1) + 1);
  s.width = std::max(between(random, 1, 30), s.dilation_w * (s.kernel_w - 1) + 1);
  if (random() % 6 == 0) {  // a plain matrix
    s.kernel_h = s.kernel_w = s.stride_h = s.stride_w = 1;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 0;
  }
  s.layout = random() % 2 == 0 ? Layout::kNchw : Layout::kNhwc;
}

}  // namespace

int32_t pick(std::mt19937& random, const std::vector<int32_t>& values) { return values[random() % values.size()]; }

int32_t between(std::mt19937& random, int32_t low, int32_t high) {
  return low + static_cast<int32_t>(random() % static_cast<uint32_t>(high - low + 1));
}

Workload random_matmul(std::mt19937& random) {
  Workload workload;
  workload.op = Operator::kMatmul;
  MatmulShape& s = workload.matmul;
  s.batch = pick(random, {1, 1, 1, 2, 3});
  s.m = length(random);
  s.n = length(random);
  s.k = length(random);
  s.transpose_a = random() % 3 == 0;
  s.transpose_b = random() % 3 == 0;
  s.a_shared = random() % 4 == 0;
  s.b_shared = random() % 2 == 0;
  const auto constant = random() % 3;
  s.a_constant = constant == 1;
  s.b_constant = constant == 2;
  random_epilogue(random, workload);
  return workload;
}

Workload random_conv(std::mt19937& random) {
  Workload workload;
  workload.op = Operator::kConv2d;
  Conv2dShape& s = workload.conv;
  do {
    s.groups = pick(random, {1, 1, 1, 2, 3});
    s.batch = pick(random, {1, 1, 2});
    s.channels = s.groups * pick(random, {1, 2, 3, 5, 8, 17, 70});
    s.out_channels = s.groups * pick(random, {1, 2, 3, 8, 20, 33});
    random_window(random, s);
    s.filter_constant = random() % 2 == 0;
    random_epilogue(random, workload);
  } while (template_of(workload) != TemplateId::kGemm);
  return workload;
}

Workload random_depthwise(std::mt19937& random) {
  Workload workload;
  workload.op = Operator::kConv2d;
  Conv2dShape& s = workload.conv;
  s.batch = pick(random, {1, 1, 2});
  s.channels = s.out_channels = s.groups = pick(random, {2, 3, 8, 16, 17, 24, 32, 40});
  random_window(random, s);
  s.filter_constant = random() % 4 != 0;
  random_epilogue(random, workload);
  return workload;
}

void random_blocks(std::mt19937& random, std::vector<int32_t>& knobs) {
  knobs[kKnobBlockM] = pick(random, {1, 8, 24, 64, 100000});
  knobs[kKnobBlockN] = pick(random, {1, 16, 48, 100000});
  knobs[kKnobBlockK] = pick(random, {1, 7, 16, 32, 100000});
  knobs[kKnobInnerLoop] = static_cast<int32_t>(random() % 2);
}

std::vector<int32_t> random_gemm_knobs(std::mt19937& random, const std::vector<int32_t>& dims, const Target& target) {
  std::vector<int32_t> knobs(kGemmKnobCount);
  knobs[kKnobTileM] = std::min(pick(random, {1, 2, 3, 4, 6, 8, 14}), dims[kGemmM]);
  knobs[kKnobLanes] = random() % 4 == 0 ? std::max(1, target.lanes / 2) : target.lanes;
  const int32_t most_vectors = (dims[kGemmN] + knobs[kKnobLanes] - 1) / knobs[kKnobLanes];
  knobs[kKnobTileVectors] = std::min(pick(random, {1, 2, 3}), most_vectors);
  knobs[kKnobUnrollK] = pick(random, {1, 2, 4});
  do {
    knobs[kKnobA] = pick(random, {kDirect, kPanel, kRows, kConstant});
    knobs[kKnobB] = pick(random, {kDirect, kPanel, kConstant});
  } while (!reads_operands(dims, knobs));
  random_blocks(random, knobs);
  return knobs;
}

std::vector<int32_t> random_depthwise_knobs(std::mt19937& random, const std::vector<int32_t>& dims,
                                            const Target& target) {
  const int32_t lanes = random() % 4 == 0 ? std::max(1, target.lanes / 2) : target.lanes;
  const int32_t vectors = dims[kDwChannelsLast] != 0 ? pick(random, {1, 2, 3}) : 1;
  return {pick(random, {1, 2, 4, 5}),         pick(random, {1, 2, 3}),           vectors, lanes,
          static_cast<int32_t>(random() % 2), pick(random, {1, 2, 3, 7, 100000})};
}

FixedDims random_fixed_dims(std::mt19937& random, const std::vector<int32_t>& dims) {
  const int32_t percent = pick(random, {0, 30, 70, 90, 100});
  FixedDims fixed(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (between(random, 0, 99) < percent) {
      fixed[i] = dims[i];
    }
  }
  return fixed;
}

bool reads_operands(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs) {
  const int32_t a = knobs[kKnobA], b = knobs[kKnobB], view = dims[kGemmView];
  if (a == kConstant && b == kConstant) {
    return false;
  }
  const bool reads_a = a == kDirect     ? view != kViewImageIsA
                       : a == kConstant ? dims[kGemmAConstant] != 0 && view != kViewImageIsA
                                        : a != kRows || view == kViewImageIsA;
  const bool reads_b = b == kDirect     ? view == kViewPlain && (dims[kGemmBN] == 1 || knobs[kKnobLanes] == 1)
                       : b == kConstant ? dims[kGemmBConstant] != 0 && view != kViewImageIsB
                                        : true;
  return reads_a && reads_b;
}

}  // namespace temper
