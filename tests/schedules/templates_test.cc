#include "schedules/templates.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>

#include "schedules/reference.h"
#include "tests/schedules/random_workload.h"

using namespace temper;

namespace {

using Dims = std::vector<int32_t>;

float activated(double value, const Dims& d, int32_t activation) {
  const Activation kind = static_cast<Activation>(d[activation]);
  const double low = std::bit_cast<float>(d[activation + 1]), high = std::bit_cast<float>(d[activation + 2]);
  if (kind == Activation::kRelu) {
    value = std::max(value, 0.0);
  } else if (kind == Activation::kClip) {
    value = std::min(std::max(value, low), high);
  }
  return static_cast<float>(value);
}

/// Element of an image operand at (pixel, k), 0 in the padding. The k order is that of the layout, which the view
/// tells.
float image_element(const Dims& d, const float* image, int32_t pixel, int32_t k) {
  const bool channels_last = d[kGemmView] == kViewImageIsA;
  const int32_t kernel = d[kGemmKernelH] * d[kGemmKernelW];
  const int32_t c = channels_last ? k % d[kGemmImageC] : k / kernel;
  const int32_t tap = channels_last ? k / d[kGemmImageC] : k % kernel;
  const int32_t h = pixel / d[kGemmOutW] * d[kGemmStrideH] - d[kGemmPadTop] + tap / d[kGemmKernelW] * d[kGemmDilationH];
  const int32_t w =
      pixel % d[kGemmOutW] * d[kGemmStrideW] - d[kGemmPadLeft] + tap % d[kGemmKernelW] * d[kGemmDilationW];
  if (h < 0 || h >= d[kGemmImageH] || w < 0 || w >= d[kGemmImageW]) {
    return 0.0f;
  }
  return image[c * d[kGemmImageChannelStride] + h * d[kGemmImageRowStride] + w * d[kGemmImagePixelStride]];
}

/// k offset of an OIHW filter beside an NHWC image.
int32_t filter_offset(const Dims& d, int32_t k) {
  const int32_t c = k % d[kGemmImageC], tap = k / d[kGemmImageC];
  return c * d[kGemmBK] + tap;
}

double gemm_sum(const Dims& d, const float* a, const float* b, int32_t m, int32_t n) {
  double sum = 0;
  for (int32_t k = 0; k < d[kGemmK]; ++k) {
    const bool image_a = d[kGemmView] == kViewImageIsA, image_b = d[kGemmView] == kViewImageIsB;
    const double left = image_a ? image_element(d, a, m, k) : a[m * d[kGemmAM] + k * d[kGemmAK]];
    const double right =
        image_b ? image_element(d, b, n, k) : b[n * d[kGemmBN] + (image_a ? filter_offset(d, k) : k * d[kGemmBK])];
    sum += left * right;
  }
  return sum;
}

/// kGemm as the comments of templates.h define it, from the dims alone.
void interpret_gemm(const Dims& d, const test::TestTensors& t, std::vector<float>& out) {
  const float* source_a = t.inputs[d[kGemmASource]];
  const float* source_b = t.inputs[TEMPER_IN_A + TEMPER_IN_B - d[kGemmASource]];
  for (int32_t g = 0; g < d[kGemmBatch]; ++g) {
    const int32_t outer = g / d[kGemmBatchInner], inner = g % d[kGemmBatchInner];
    const float* a = source_a + outer * d[kGemmAOuter] + inner * d[kGemmAInner];
    const float* b = source_b + outer * d[kGemmBOuter] + inner * d[kGemmBInner];
    for (int32_t m = 0; m < d[kGemmM]; ++m) {
      for (int32_t n = 0; n < d[kGemmN]; ++n) {
        const int32_t at = outer * d[kGemmCOuter] + inner * d[kGemmCInner] + m * d[kGemmCM] + n * d[kGemmCN];
        double sum = gemm_sum(d, a, b, m, n);
        if (d[kGemmBias] != kBiasNone) {
          sum += t.data[TEMPER_BIAS][inner * d[kGemmBiasInner] + (d[kGemmBias] == kBiasAlongM ? m : n)];
        }
        sum += d[kGemmAddend] ? t.data[TEMPER_ADDEND][at] : 0.0f;
        out[at] = activated(sum, d, kGemmActivation);
      }
    }
  }
}

double depthwise_sum(const Dims& d, const float* plane, const float* filter, int32_t oh, int32_t ow) {
  double sum = 0;
  for (int32_t kh = 0; kh < d[kDwKernelH]; ++kh) {
    for (int32_t kw = 0; kw < d[kDwKernelW]; ++kw) {
      const int32_t h = oh * d[kDwStrideH] - d[kDwPadTop] + kh * d[kDwDilationH];
      const int32_t w = ow * d[kDwStrideW] - d[kDwPadLeft] + kw * d[kDwDilationW];
      if (h >= 0 && h < d[kDwInH] && w >= 0 && w < d[kDwInW]) {
        sum += static_cast<double>(plane[h * d[kDwInRow] + w * d[kDwInPixel]]) * filter[kh * d[kDwKernelW] + kw];
      }
    }
  }
  return sum;
}

void interpret_depthwise(const Dims& d, const test::TestTensors& t, std::vector<float>& out) {
  for (int32_t n = 0; n < d[kDwBatch]; ++n) {
    for (int32_t c = 0; c < d[kDwC]; ++c) {
      const float* plane = t.inputs[TEMPER_IN_A] + n * d[kDwInN] + c * d[kDwInC];
      const float* filter = t.inputs[TEMPER_IN_B] + c * d[kDwKernelH] * d[kDwKernelW];
      for (int32_t oh = 0; oh < d[kDwOutH]; ++oh) {
        for (int32_t ow = 0; ow < d[kDwOutW]; ++ow) {
          const int32_t at = n * d[kDwOutN] + c * d[kDwOutC] + oh * d[kDwOutRow] + ow * d[kDwOutPixel];
          double sum = depthwise_sum(d, plane, filter, oh, ow) + (d[kDwBias] ? t.data[TEMPER_BIAS][c] : 0.0f);
          sum += d[kDwAddend] ? t.data[TEMPER_ADDEND][at] : 0.0f;
          out[at] = activated(sum, d, kDwActivation);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("dims alone, interpreted as templates.h defines them, give the reference's result") {
  Random random(42);
  int depthwise_count = 0;
  for (int i = 0; i < 800; ++i) {
    const Workload workload = test::random_workload(random, 11);
    INFO(canonical_text(workload));
    const Dims dims = dims_of(workload);
    const bool depthwise = template_of(workload) == TemplateId::kDepthwise;
    depthwise_count += depthwise;
    REQUIRE(dims.size() == (depthwise ? size_t{kDwDimCount} : size_t{kGemmDimCount}));
    const test::TestTensors tensors(workload);
    const size_t size = tensor_elements(workload)[TEMPER_OUT];
    std::vector<float> expected(size), out(size, 1e30f);
    compute_reference(workload, tensors.inputs, {expected.data(), size});
    (depthwise ? interpret_depthwise : interpret_gemm)(dims, tensors, out);
    REQUIRE(std::equal(out.begin(), out.end(), expected.begin()));
  }
  CHECK(depthwise_count > 40);
}

TEST_CASE("a batch over a shared right operand folds into rows") {
  const Dims dims = dims_of(*parse_workload("matmul f32 3x5x7x4 bshared bconst"));
  CHECK(dims[kGemmBatch] == 1);
  CHECK(dims[kGemmM] == 15);
  CHECK(dims[kGemmBConstant] == 1);
}

TEST_CASE("packed constants are indexed by g inner alone") {
  Random random(3);
  for (int i = 0; i < 400; ++i) {
    const Workload workload = test::random_workload(random, 9);
    if (template_of(workload) == TemplateId::kDepthwise) {
      continue;
    }
    const Dims d = dims_of(workload);
    CHECK((d[kGemmAConstant] == 0 || d[kGemmAOuter] == 0 || d[kGemmBatch] == d[kGemmBatchInner]));
    CHECK((d[kGemmBConstant] == 0 || d[kGemmBOuter] == 0 || d[kGemmBatch] == d[kGemmBatchInner]));
  }
}

TEST_CASE("operators choose their template") {
  const auto id = [](const char* text) { return template_of(*parse_workload(text)); };
  CHECK(id("matmul f32 1x2x3x4") == TemplateId::kGemm);
  CHECK(id("conv2d f32 nchw 1x8x9x9 o8 k3x3 s1x1 p1,1,1,1 d1x1 g8") == TemplateId::kDepthwise);
  CHECK(id("conv2d f32 nchw 1x8x9x9 o16 k3x3 s1x1 p1,1,1,1 d1x1 g8") == TemplateId::kGemm);
  CHECK(id("conv2d f32 nchw 1x1x9x9 o1 k3x3 s1x1 p1,1,1,1 d1x1 g1") == TemplateId::kGemm);
}

TEST_CASE("a pointwise convolution is a plain strided matmul and any other reads an image") {
  const Dims plain = dims_of(*parse_workload("conv2d f32 nhwc 2x24x7x5 o10 k1x1 s1x1 p0,0,0,0 d1x1 g1"));
  CHECK(plain[kGemmView] == kViewPlain);
  CHECK(plain[kGemmM] == 35);
  CHECK(plain[kGemmN] == 10);
  CHECK(plain[kGemmAM] == 24);
  CHECK(plain[kGemmASource] == TEMPER_IN_A);
  const Dims strided = dims_of(*parse_workload("conv2d f32 nchw 1x24x7x5 o10 k1x1 s2x2 p0,0,0,0 d1x1 g1"));
  CHECK(strided[kGemmView] == kViewImageIsB);
  CHECK(strided[kGemmM] == 10);
  CHECK(strided[kGemmN] == 12);
  CHECK(strided[kGemmASource] == TEMPER_IN_B);
}
