#include "schedules/reference.h"

#include <algorithm>

#include "runtime/check.h"

namespace temper {
namespace {

/// sums[i] += factor * values[i * step] for count values.
void add_scaled(double* sums, double factor, const float* values, int64_t step, int64_t count) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) {
      sums[i] += factor * values[i];
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    sums[i] += factor * values[i * step];
  }
}

float finished(double sum, const Epilogue& epilogue, const float* bias, const float* addend) {
  double value = sum + (bias != nullptr ? *bias : 0.0f) + (addend != nullptr ? *addend : 0.0f);
  if (epilogue.activation == Activation::kRelu) {
    value = std::max(value, 0.0);
  } else if (epilogue.activation == Activation::kClip) {
    value = std::min(std::max(value, static_cast<double>(epilogue.low)), static_cast<double>(epilogue.high));
  }
  return static_cast<float>(value);
}

using Inputs = std::array<const float*, TEMPER_TENSOR_COUNT>;

/// Row-major copy of a matrix stored transposed.
std::vector<float> transposed(const float* stored, int64_t rows, int64_t columns) {
  std::vector<float> matrix(rows * columns);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      matrix[r * columns + c] = stored[c * rows + r];
    }
  }
  return matrix;
}

void matmul_one(const MatmulShape& s, const float* a, const float* b, const Epilogue& epilogue, const float* bias,
                const float* addend, float* out) {
  const std::vector<float> rows_of_b = s.transpose_b ? transposed(b, s.k, s.n) : std::vector<float>();
  const float* matrix = s.transpose_b ? rows_of_b.data() : b;
  std::vector<double> sums(s.n);
  for (int64_t m = 0; m < s.m; ++m) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int64_t k = 0; k < s.k; ++k) {
      const float factor = s.transpose_a ? a[k * s.m + m] : a[m * s.k + k];
      add_scaled(sums.data(), factor, matrix + k * s.n, 1, s.n);
    }
    for (int64_t n = 0; n < s.n; ++n) {
      const int64_t at = m * s.n + n;
      out[at] = finished(sums[n], epilogue, bias ? bias + n : nullptr, addend ? addend + at : nullptr);
    }
  }
}

void matmul_reference(const Workload& workload, const Inputs& inputs, float* out) {
  const MatmulShape& s = workload.matmul;
  const int64_t size_a = int64_t{s.m} * s.k, size_b = int64_t{s.k} * s.n, size_c = int64_t{s.m} * s.n;
  for (int64_t i = 0; i < s.batch; ++i) {
    const float* addend = inputs[TEMPER_ADDEND];
    matmul_one(s, inputs[TEMPER_IN_A] + (s.a_shared ? 0 : i * size_a),
               inputs[TEMPER_IN_B] + (s.b_shared ? 0 : i * size_b), workload.epilogue, inputs[TEMPER_BIAS],
               addend ? addend + i * size_c : nullptr, out + i * size_c);
  }
}

/// Output indices o in [0, outputs) whose source o * stride + offset lies in [0, size): a range [first, last).
struct Range {
  int64_t first, last;
};
Range inside(int64_t outputs, int64_t stride, int64_t offset, int64_t size) {
  const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t last = offset >= size ? 0 : std::min(outputs, (size - 1 - offset) / stride + 1);
  return {first, std::max(first, last)};
}

/// Adds filter[channel's kernel] * plane to the sums of one output plane.
void convolve_plane(const Conv2dShape& s, const float* plane, const float* kernel, double* sums) {
  const int64_t out_w = s.out_width();
  const bool whole = s.kernel_h == 1 && s.kernel_w == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_top == 0 &&
                     s.pad_left == 0 && s.pad_bottom == 0 && s.pad_right == 0;
  if (whole) {  // the planes coincide
    add_scaled(sums, kernel[0], plane, 1, out_w * s.out_height());
    return;
  }
  for (int64_t kh = 0; kh < s.kernel_h; ++kh) {
    const int64_t top = kh * s.dilation_h - s.pad_top;
    const Range rows = inside(s.out_height(), s.stride_h, top, s.height);
    for (int64_t kw = 0; kw < s.kernel_w; ++kw) {
      const int64_t left = kw * s.dilation_w - s.pad_left;
      const Range columns = inside(out_w, s.stride_w, left, s.width);
      const double factor = kernel[kh * s.kernel_w + kw];
      for (int64_t oh = rows.first; oh < rows.last && columns.first < columns.last; ++oh) {
        const float* row = plane + (oh * s.stride_h + top) * s.width + left;
        add_scaled(sums + oh * out_w + columns.first, factor, row + columns.first * s.stride_w, s.stride_w,
                   columns.last - columns.first);
      }
    }
  }
}

/// Images are handled plane by plane, channels first; NHWC is transposed on the way in and on the way out.
void conv_reference(const Workload& workload, const Inputs& inputs, float* out) {
  const Conv2dShape& s = workload.conv;
  const bool nhwc = s.layout == Layout::kNhwc;
  const int64_t in_plane = int64_t{s.height} * s.width, out_plane = int64_t{s.out_height()} * s.out_width();
  const int64_t group_in = s.channels / s.groups, group_out = s.out_channels / s.groups;
  const int64_t kernel_size = int64_t{s.kernel_h} * s.kernel_w;
  const float *bias = inputs[TEMPER_BIAS], *addend = inputs[TEMPER_ADDEND];
  std::vector<double> sums(out_plane);
  for (int64_t n = 0; n < s.batch; ++n) {
    const float* image = inputs[TEMPER_IN_A] + n * s.channels * in_plane;
    const std::vector<float> planes = nhwc ? transposed(image, s.channels, in_plane) : std::vector<float>();
    image = nhwc ? planes.data() : image;
    for (int64_t o = 0; o < s.out_channels; ++o) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (int64_t c = 0; c < group_in; ++c) {
        const float* kernel = inputs[TEMPER_IN_B] + (o * group_in + c) * kernel_size;
        convolve_plane(s, image + (o / group_out * group_in + c) * in_plane, kernel, sums.data());
      }
      for (int64_t pixel = 0; pixel < out_plane; ++pixel) {
        const int64_t at = n * s.out_channels * out_plane + (nhwc ? pixel * s.out_channels + o : o * out_plane + pixel);
        out[at] = finished(sums[pixel], workload.epilogue, bias ? bias + o : nullptr, addend ? addend + at : nullptr);
      }
    }
  }
}

}  // namespace

void compute_reference(const Workload& workload, const std::array<const float*, TEMPER_TENSOR_COUNT>& inputs,
                       Span<float> out) {
  (workload.op == Operator::kMatmul ? matmul_reference : conv_reference)(workload, inputs, out.data);
}

uint32_t reference_digest(const Workload& workload) {
  const auto elements = tensor_elements(workload);
  std::array<std::vector<float>, TEMPER_TENSOR_COUNT> tensors;
  std::array<const float*, TEMPER_TENSOR_COUNT> inputs{};
  for (uint32_t which = TEMPER_IN_A; which < TEMPER_TENSOR_COUNT; ++which) {
    tensors[which].resize(elements[which]);
    fill_small_integers(static_cast<temper_tensor>(which), {tensors[which].data(), tensors[which].size()});
    inputs[which] = elements[which] != 0 ? tensors[which].data() : nullptr;
  }
  std::vector<float> out(elements[TEMPER_OUT]);
  compute_reference(workload, inputs, {out.data(), out.size()});
  return digest({out.data(), out.size()});
}

}  // namespace temper
