#include "toolchains/firmware/plain_loops.h"

#include <string.h>

// Images are NHWC (N = 1), filters OIHW, as a workload's tensors are.
typedef struct conv_shape {
  int height, width, channels, out_height, out_width, out_channels, kernel_h, kernel_w, stride, pad_top, pad_left;
} conv_shape;

static inline float relu(float value) { return value > 0 ? value : 0; }

__attribute__((always_inline)) static inline void convolve(const conv_shape s, float* restrict out,
                                                           const float* restrict image, const float* restrict filter,
                                                           const float* restrict bias) {
  for (int oh = 0; oh < s.out_height; ++oh) {
    for (int ow = 0; ow < s.out_width; ++ow) {
      for (int o = 0; o < s.out_channels; ++o) {
        float sum = bias[o];
        for (int kh = 0; kh < s.kernel_h; ++kh) {
          const int h = oh * s.stride + kh - s.pad_top;
          for (int kw = 0; kw < s.kernel_w; ++kw) {
            const int w = ow * s.stride + kw - s.pad_left;
            if (h < 0 || h >= s.height || w < 0 || w >= s.width) {
              continue;
            }
            for (int c = 0; c < s.channels; ++c) {
              sum += image[(h * s.width + w) * s.channels + c] *
                     filter[((o * s.channels + c) * s.kernel_h + kh) * s.kernel_w + kw];
            }
          }
        }
        out[(oh * s.out_width + ow) * s.out_channels + o] = relu(sum);
      }
    }
  }
}

__attribute__((always_inline)) static inline void convolve_depthwise(const conv_shape s, float* restrict out,
                                                                     const float* restrict image,
                                                                     const float* restrict filter,
                                                                     const float* restrict bias) {
  for (int oh = 0; oh < s.out_height; ++oh) {
    for (int ow = 0; ow < s.out_width; ++ow) {
      for (int c = 0; c < s.channels; ++c) {
        float sum = bias[c];
        for (int kh = 0; kh < s.kernel_h; ++kh) {
          const int h = oh * s.stride + kh - s.pad_top;
          for (int kw = 0; kw < s.kernel_w; ++kw) {
            const int w = ow * s.stride + kw - s.pad_left;
            if (h >= 0 && h < s.height && w >= 0 && w < s.width) {
              sum += image[(h * s.width + w) * s.channels + c] * filter[(c * s.kernel_h + kh) * s.kernel_w + kw];
            }
          }
        }
        out[(oh * s.out_width + ow) * s.channels + c] = relu(sum);
      }
    }
  }
}

static void conv_1(float* out, const float* image, const float* filter, const float* bias) {
  const conv_shape shape = {49, 10, 1, 25, 5, 64, 10, 4, 2, 4, 1};
  convolve(shape, out, image, filter, bias);
}

static void depthwise_1(float* out, const float* image, const float* filter, const float* bias) {
  const conv_shape shape = {25, 5, 64, 25, 5, 64, 3, 3, 1, 1, 1};
  convolve_depthwise(shape, out, image, filter, bias);
}

static void pointwise_1(float* out, const float* image, const float* filter, const float* bias) {
  const conv_shape shape = {25, 5, 64, 25, 5, 64, 1, 1, 1, 0, 0};
  convolve(shape, out, image, filter, bias);
}

// A row times a matrix of rows by k.
static void dense(float* restrict out, const float* restrict a, const float* restrict b, const float* restrict bias) {
  enum { kDepth = 64, kColumns = 12 };
  for (int n = 0; n < kColumns; ++n) {
    float sum = bias[n];
    for (int k = 0; k < kDepth; ++k) {
      sum += a[k] * b[k * kColumns + n];
    }
    out[n] = sum;
  }
}

const plain_loop* find_plain_loop(const char* workload) {
  static const plain_loop kLoops[] = {{"conv_1", 8000, 490, 2560, 64, conv_1},
                                      {"depthwise_1", 8000, 8000, 576, 64, depthwise_1},
                                      {"pointwise_1", 8000, 8000, 4096, 64, pointwise_1},
                                      {"dense", 12, 64, 768, 12, dense}};
  for (size_t i = 0; i < sizeof kLoops / sizeof *kLoops; ++i) {
    if (strcmp(kLoops[i].workload, workload) == 0) {
      return &kLoops[i];
    }
  }
  return NULL;
}
