#include "schedules/reference.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/check.h"
#include "tests/schedules/random_workload.h"

using namespace temper;

namespace {

float activated(double value, const Epilogue& epilogue) {
  switch (epilogue.activation) {
    case Activation::kNone:
      return static_cast<float>(value);
    case Activation::kRelu:
      return value > 0 ? static_cast<float>(value) : 0.0f;
    default:
      return value < epilogue.low ? epilogue.low : value > epilogue.high ? epilogue.high : static_cast<float>(value);
  }
}

/// One element of a matmul, straight from the definition.
float matmul_element(const Workload& w, const test::TestTensors& t, int64_t batch, int64_t m, int64_t n) {
  const MatmulShape& s = w.matmul;
  double sum = w.epilogue.bias ? t.data[TEMPER_BIAS][n] : 0.0;
  for (int64_t k = 0; k < s.k; ++k) {
    const int64_t at_a = (s.a_shared ? 0 : batch) * s.m * s.k + (s.transpose_a ? k * s.m + m : m * s.k + k);
    const int64_t at_b = (s.b_shared ? 0 : batch) * s.k * s.n + (s.transpose_b ? n * s.k + k : k * s.n + n);
    sum += static_cast<double>(t.data[TEMPER_IN_A][at_a]) * t.data[TEMPER_IN_B][at_b];
  }
  sum += w.epilogue.addend ? t.data[TEMPER_ADDEND][(batch * s.m + m) * s.n + n] : 0.0;
  return activated(sum, w.epilogue);
}

int64_t image_index(Layout layout, int64_t n, int64_t c, int64_t h, int64_t w, int64_t channels, int64_t height,
                    int64_t width) {
  return layout == Layout::kNchw ? ((n * channels + c) * height + h) * width + w
                                 : ((n * height + h) * width + w) * channels + c;
}

/// One element of a convolution, straight from the definition.
float conv_element(const Workload& w, const test::TestTensors& t, int64_t n, int64_t o, int64_t oh, int64_t ow) {
  const Conv2dShape& s = w.conv;
  const int64_t per_group = s.channels / s.groups, group = o / (s.out_channels / s.groups);
  double sum = w.epilogue.bias ? t.data[TEMPER_BIAS][o] : 0.0;
  for (int64_t c = 0; c < per_group; ++c) {
    for (int64_t kh = 0; kh < s.kernel_h; ++kh) {
      for (int64_t kw = 0; kw < s.kernel_w; ++kw) {
        const int64_t h = oh * s.stride_h - s.pad_top + kh * s.dilation_h;
        const int64_t x = ow * s.stride_w - s.pad_left + kw * s.dilation_w;
        if (h >= 0 && h < s.height && x >= 0 && x < s.width) {
          const int64_t at = image_index(s.layout, n, group * per_group + c, h, x, s.channels, s.height, s.width);
          sum += static_cast<double>(t.data[TEMPER_IN_A][at]) *
                 t.data[TEMPER_IN_B][((o * per_group + c) * s.kernel_h + kh) * s.kernel_w + kw];
        }
      }
    }
  }
  const int64_t at = image_index(s.layout, n, o, oh, ow, s.out_channels, s.out_height(), s.out_width());
  sum += w.epilogue.addend ? t.data[TEMPER_ADDEND][at] : 0.0;
  return activated(sum, w.epilogue);
}

std::vector<float> by_definition(const Workload& w, const test::TestTensors& t) {
  std::vector<float> out(tensor_elements(w)[TEMPER_OUT]);
  if (w.op == Operator::kMatmul) {
    const int64_t rows = w.matmul.m, columns = w.matmul.n;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = matmul_element(w, t, i / (rows * columns), i / columns % rows, i % columns);
    }
    return out;
  }
  const Conv2dShape& s = w.conv;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t o = 0; o < s.out_channels; ++o) {
      for (int64_t oh = 0; oh < s.out_height(); ++oh) {
        for (int64_t ow = 0; ow < s.out_width(); ++ow) {
          out[image_index(s.layout, n, o, oh, ow, s.out_channels, s.out_height(), s.out_width())] =
              conv_element(w, t, n, o, oh, ow);
        }
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the reference equals the definition element by element for every attribute") {
  Random random(7);
  for (int i = 0; i < 600; ++i) {
    const Workload workload = test::random_workload(random, 12);
    INFO(canonical_text(workload));
    const test::TestTensors tensors(workload);
    std::vector<float> out(tensor_elements(workload)[TEMPER_OUT], 1e30f);
    compute_reference(workload, tensors.inputs, {out.data(), out.size()});
    const std::vector<float> expected = by_definition(workload, tensors);
    REQUIRE(std::equal(out.begin(), out.end(), expected.begin()));
  }
}

TEST_CASE("the reference sums in double") {
  const Workload workload = *parse_workload("matmul f32 1x1x3x1");
  const float a[] = {1e8f, 1.0f, -1e8f}, b[] = {1.0f, 1.0f, 1.0f};
  float out[1];
  compute_reference(workload, {nullptr, a, b, nullptr, nullptr}, Span<float>(out));
  CHECK(out[0] == 1.0f);
}

TEST_CASE("digests of known workloads never change, since packs on devices hold them") {
  const auto digest_of = [](const char* text) { return reference_digest(*parse_workload(text)); };
  CHECK(digest_of("matmul f32 2x33x40x17 bconst bias") == 3691253738u);
  CHECK(digest_of("conv2d f32 nchw 1x3x20x20 o8 k3x3 s2x2 p1,1,1,1 d1x1 g1 bias clip(0,6)") == 3101255595u);
  CHECK(digest_of("conv2d f32 nhwc 1x16x9x9 o16 k3x3 s1x1 p1,1,1,1 d1x1 g16 addend relu") == 2138309621u);
}
