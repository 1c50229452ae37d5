#include "schedules/workload.h"

#include <cstdio>

namespace temper {
namespace {

constexpr int64_t kMaxElements = (int64_t{1} << 29) - 1;  // below 2^31 bytes of f32
constexpr int64_t kMaxExtent = int64_t{1} << 30;          // padded image extent: keeps index arithmetic inside int32

Error invalid(const std::string& what) { return {TEMPER_BAD_DATA, "workload: " + what}; }

/// Product that stops at 2^62 instead of overflowing.
int64_t product(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (int64_t factor : factors) {
    if (factor != 0 && result > (int64_t{1} << 62) / factor) {
      return int64_t{1} << 62;
    }
    result *= factor;
  }
  return result;
}

struct NamedSize {
  const char* name;
  int64_t value;
  int64_t least;
};

/// First size that is below its least value, as an error; code TEMPER_OK when all are fine.
Error check_sizes(std::initializer_list<NamedSize> sizes) {
  for (const NamedSize& size : sizes) {
    if (size.value < size.least) {
      return invalid(std::string(size.name) + " is " + std::to_string(size.value) + ", must be at least " +
                     std::to_string(size.least));
    }
  }
  return {TEMPER_OK, ""};
}

/// Likewise for the number of elements of each tensor.
Error check_elements(std::initializer_list<NamedSize> tensors) {
  for (const NamedSize& tensor : tensors) {
    if (tensor.value > kMaxElements) {
      return invalid(std::string(tensor.name) + " has 2^31 bytes or more; split it along the batch");
    }
  }
  return {TEMPER_OK, ""};
}

Error check_matmul(const MatmulShape& s) {
  Error sizes = check_sizes({{"batch", s.batch, 1}, {"m", s.m, 1}, {"n", s.n, 1}, {"k", s.k, 1}});
  if (sizes.code != TEMPER_OK) {
    return sizes;
  }
  return check_elements({{"a", product({s.a_shared ? 1 : s.batch, s.m, s.k}), 0},
                         {"b", product({s.b_shared ? 1 : s.batch, s.k, s.n}), 0},
                         {"output", product({s.batch, s.m, s.n}), 0}});
}

Error check_extent(const char* name, int64_t size, int64_t pads, int64_t kernel, int64_t dilation, int64_t stride) {
  const int64_t padded = size + pads;
  const int64_t span = product({dilation, kernel - 1}) + 1;
  if (padded > kMaxExtent || stride > kMaxExtent) {
    return invalid(std::string("padded ") + name + " or its stride is beyond 2^30");
  }
  if (span > padded) {
    return invalid(std::string("output is empty: dilated kernel spans ") + std::to_string(span) + " of padded " + name +
                   " " + std::to_string(padded));
  }
  return {TEMPER_OK, ""};
}

Error check_conv(const Conv2dShape& s) {
  const Error errors[] = {
      check_sizes({{"batch", s.batch, 1},
                   {"channels", s.channels, 1},
                   {"height", s.height, 1},
                   {"width", s.width, 1},
                   {"out_channels", s.out_channels, 1},
                   {"kernel_h", s.kernel_h, 1},
                   {"kernel_w", s.kernel_w, 1},
                   {"stride_h", s.stride_h, 1},
                   {"stride_w", s.stride_w, 1},
                   {"pad_top", s.pad_top, 0},
                   {"pad_left", s.pad_left, 0},
                   {"pad_bottom", s.pad_bottom, 0},
                   {"pad_right", s.pad_right, 0},
                   {"dilation_h", s.dilation_h, 1},
                   {"dilation_w", s.dilation_w, 1},
                   {"groups", s.groups, 1}}),
      check_extent("height", s.height, int64_t{s.pad_top} + s.pad_bottom, s.kernel_h, s.dilation_h, s.stride_h),
      check_extent("width", s.width, int64_t{s.pad_left} + s.pad_right, s.kernel_w, s.dilation_w, s.stride_w)};
  for (const Error& error : errors) {
    if (error.code != TEMPER_OK) {
      return error;
    }
  }
  if (s.channels % s.groups != 0 || s.out_channels % s.groups != 0) {
    return invalid("groups " + std::to_string(s.groups) + " must divide channels " + std::to_string(s.channels) +
                   " and out_channels " + std::to_string(s.out_channels));
  }
  return check_elements({{"image", product({s.batch, s.channels, s.height, s.width}), 0},
                         {"filter", product({s.out_channels, s.channels / s.groups, s.kernel_h, s.kernel_w}), 0},
                         {"output", product({s.batch, s.out_channels, s.out_height(), s.out_width()}), 0}});
}

}  // namespace

Result<Workload> validated(const Workload& workload) {
  Workload result = workload;
  Error error;
  if (workload.op == Operator::kMatmul) {
    error = check_matmul(workload.matmul);
    result.conv = Conv2dShape{};
    if (workload.matmul.batch == 1) {  // sharing over a batch of one says nothing
      result.matmul.a_shared = result.matmul.b_shared = false;
    }
  } else if (workload.op == Operator::kConv2d) {
    error = check_conv(workload.conv);
    result.matmul = MatmulShape{};
  } else {
    error = invalid("unknown operator " + std::to_string(static_cast<int>(workload.op)));
  }
  if (error.code != TEMPER_OK) {
    return error;
  }
  Epilogue& epilogue = result.epilogue;
  if (epilogue.activation != Activation::kClip) {
    epilogue.low = epilogue.high = 0.0f;
  } else if (!(epilogue.low <= epilogue.high)) {
    char message[80];
    std::snprintf(message, sizeof message, "clip from %g to %g is not an interval", static_cast<double>(epilogue.low),
                  static_cast<double>(epilogue.high));
    return invalid(message);
  }
  epilogue.low += 0.0f;
  epilogue.high += 0.0f;
  return result;
}

uint64_t workload_key(const Workload& workload) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (char c : canonical_text(workload)) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  }
  return hash;
}

int64_t reduction_length(const Workload& workload) {
  if (workload.op == Operator::kMatmul) {
    return workload.matmul.k;
  }
  const Conv2dShape& s = workload.conv;
  return int64_t{s.channels / s.groups} * s.kernel_h * s.kernel_w;
}

uint64_t flops(const Workload& workload) {
  const uint64_t outputs = tensor_elements(workload)[TEMPER_OUT];
  return 2 * outputs * static_cast<uint64_t>(reduction_length(workload));
}

std::array<uint32_t, TEMPER_TENSOR_COUNT> tensor_elements(const Workload& workload) {
  std::array<uint32_t, TEMPER_TENSOR_COUNT> elements{};
  int64_t out = 0, a = 0, b = 0, channels = 0;
  if (workload.op == Operator::kMatmul) {
    const MatmulShape& s = workload.matmul;
    out = product({s.batch, s.m, s.n});
    a = product({s.a_shared ? 1 : s.batch, s.m, s.k});
    b = product({s.b_shared ? 1 : s.batch, s.k, s.n});
    channels = s.n;
  } else {
    const Conv2dShape& s = workload.conv;
    out = product({s.batch, s.out_channels, s.out_height(), s.out_width()});
    a = product({s.batch, s.channels, s.height, s.width});
    b = product({s.out_channels, s.channels / s.groups, s.kernel_h, s.kernel_w});
    channels = s.out_channels;
  }
  elements[TEMPER_OUT] = static_cast<uint32_t>(out);
  elements[TEMPER_IN_A] = static_cast<uint32_t>(a);
  elements[TEMPER_IN_B] = static_cast<uint32_t>(b);
  elements[TEMPER_BIAS] = workload.epilogue.bias ? static_cast<uint32_t>(channels) : 0;
  elements[TEMPER_ADDEND] = workload.epilogue.addend ? static_cast<uint32_t>(out) : 0;
  return elements;
}

}  // namespace temper
