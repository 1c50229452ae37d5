#include "tests/codegen/naive_kernel.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace temper {
namespace {

constexpr uint8_t kSlack = 0xa5;

struct GemmOffset {
  const std::vector<int32_t>& dims;

  int64_t outer(int32_t g) const { return g / dims[kGemmBatchInner]; }
  int64_t inner(int32_t g) const { return g % dims[kGemmBatchInner]; }

  /// -1 outside the image.
  int64_t image(int32_t pixel, int32_t c, int32_t kh, int32_t kw) const {
    const int64_t oh = pixel / dims[kGemmOutW], ow = pixel % dims[kGemmOutW];
    const int64_t ih = oh * dims[kGemmStrideH] - dims[kGemmPadTop] + int64_t{kh} * dims[kGemmDilationH];
    const int64_t iw = ow * dims[kGemmStrideW] - dims[kGemmPadLeft] + int64_t{kw} * dims[kGemmDilationW];
    if (ih < 0 || ih >= dims[kGemmImageH] || iw < 0 || iw >= dims[kGemmImageW]) {
      return -1;
    }
    return ih * dims[kGemmImageRowStride] + iw * dims[kGemmImagePixelStride] +
           int64_t{c} * dims[kGemmImageChannelStride];
  }

  int64_t a(int32_t g, int32_t m, int32_t k) const {
    const int64_t base = outer(g) * dims[kGemmAOuter] + inner(g) * dims[kGemmAInner];
    if (dims[kGemmView] != kViewImageIsA) {
      return base + int64_t{m} * dims[kGemmAM] + int64_t{k} * dims[kGemmAK];
    }
    const int32_t c = dims[kGemmImageC], kw = dims[kGemmKernelW];
    const int64_t inside = image(m, k % c, k / (kw * c), k / c % kw);
    return inside < 0 ? -1 : base + inside;
  }

  int64_t b(int32_t g, int32_t k, int32_t n) const {
    const int64_t base = outer(g) * dims[kGemmBOuter] + inner(g) * dims[kGemmBInner];
    const int32_t c = dims[kGemmImageC], kh = dims[kGemmKernelH], kw = dims[kGemmKernelW];
    if (dims[kGemmView] == kViewImageIsB) {
      const int64_t inside = image(n, k / (kh * kw), k / kw % kh, k % kw);
      return inside < 0 ? -1 : base + inside;
    }
    int64_t depth = int64_t{k} * dims[kGemmBK];
    if (dims[kGemmView] == kViewImageIsA) {
      depth = (int64_t{k % c} * kh + k / (kw * c)) * kw + k / c % kw;
    }
    return base + depth + int64_t{n} * dims[kGemmBN];
  }

  int64_t out(int32_t g, int32_t m, int32_t n) const {
    return outer(g) * dims[kGemmCOuter] + inner(g) * dims[kGemmCInner] + int64_t{m} * dims[kGemmCM] +
           int64_t{n} * dims[kGemmCN];
  }
};

float activate(float value, int32_t kind, int32_t low_bits, int32_t high_bits) {
  const float low = std::bit_cast<float>(low_bits), high = std::bit_cast<float>(high_bits);
  if (kind == static_cast<int32_t>(Activation::kRelu)) {
    return value < 0.0f ? 0.0f : value;
  }
  if (kind == static_cast<int32_t>(Activation::kClip)) {
    return value < low ? low : value > high ? high : value;
  }
  return value;
}

int32_t round_up(int32_t value, int32_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

PagedTensor::PagedTensor(size_t count, Edge edge) : count_(count) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inside = (count * sizeof(float) + page - 1) / page * page + (count == 0 ? page : 0);
  bytes_ = inside + 2 * page;
  base_ = static_cast<uint8_t*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(base_ + page, inside, PROT_READ | PROT_WRITE);
  std::memset(base_ + page, kSlack, inside);
  uint8_t* start = edge == Edge::kStart ? base_ + page : base_ + page + inside - count * sizeof(float);
  data_ = reinterpret_cast<float*>(start);
}

PagedTensor::~PagedTensor() { munmap(base_, bytes_); }

void PagedTensor::fill_integers(std::mt19937& random) {
  for (size_t i = 0; i < count_; ++i) {
    data_[i] = static_cast<float>(static_cast<int32_t>(random() % 9) - 4);
  }
}

void PagedTensor::poison() { std::memset(data_, 0xff, count_ * sizeof(float)); }

bool PagedTensor::slack_intact() const {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto* start = reinterpret_cast<const uint8_t*>(data_);
  const auto* end = reinterpret_cast<const uint8_t*>(data_ + count_);
  const auto slack = [](uint8_t byte) { return byte == kSlack; };
  return std::all_of(static_cast<const uint8_t*>(base_ + page), start, slack) &&
         std::all_of(end, static_cast<const uint8_t*>(base_ + bytes_ - page), slack);
}

std::string KernelCase::text() const {
  std::string result = "dims";
  for (int32_t dim : dims) {
    result += ' ';
    result += std::to_string(dim);
  }
  result += " knobs";
  for (int32_t knob : knobs) {
    result += ' ';
    result += std::to_string(knob);
  }
  return result;
}

GemmSizes gemm_sizes(const std::vector<int32_t>& dims) {
  const GemmOffset at{dims};
  GemmSizes sizes = {0, 0, 0, 0};
  for (int32_t g = 0; g < dims[kGemmBatch]; ++g) {
    for (int32_t m = 0; m < dims[kGemmM]; ++m) {
      for (int32_t k = 0; k < dims[kGemmK]; ++k) {
        sizes.a = std::max(sizes.a, static_cast<size_t>(at.a(g, m, k) + 1));
      }
    }
    for (int32_t n = 0; n < dims[kGemmN]; ++n) {
      for (int32_t k = 0; k < dims[kGemmK]; ++k) {
        sizes.b = std::max(sizes.b, static_cast<size_t>(at.b(g, k, n) + 1));
      }
    }
    sizes.out = std::max(sizes.out, static_cast<size_t>(at.out(g, dims[kGemmM] - 1, dims[kGemmN] - 1) + 1));
  }
  const int32_t along = dims[kGemmBias] == kBiasNone ? 0 : dims[kGemmBias] == kBiasAlongM ? dims[kGemmM] : dims[kGemmN];
  sizes.bias = along == 0 ? 0 : static_cast<size_t>((dims[kGemmBatchInner] - 1) * dims[kGemmBiasInner] + along);
  return sizes;
}

std::vector<float> naive_gemm(const std::vector<int32_t>& dims, const float* a, const float* b, const float* bias,
                              const float* addend) {
  const GemmOffset at{dims};
  std::vector<float> out(gemm_sizes(dims).out, 0.0f);
  for (int32_t g = 0; g < dims[kGemmBatch]; ++g) {
    for (int32_t m = 0; m < dims[kGemmM]; ++m) {
      for (int32_t n = 0; n < dims[kGemmN]; ++n) {
        double sum = 0.0;
        for (int32_t k = 0; k < dims[kGemmK]; ++k) {
          const int64_t ia = at.a(g, m, k), ib = at.b(g, k, n);
          sum += ia < 0 || ib < 0 ? 0.0 : static_cast<double>(a[ia]) * static_cast<double>(b[ib]);
        }
        const int64_t place = at.out(g, m, n);
        if (dims[kGemmBias] != kBiasNone) {
          const int32_t along = dims[kGemmBias] == kBiasAlongM ? m : n;
          sum += static_cast<double>(bias[at.inner(g) * dims[kGemmBiasInner] + along]);
        }
        sum += dims[kGemmAddend] != 0 ? static_cast<double>(addend[place]) : 0.0;
        out[static_cast<size_t>(place)] =
            activate(static_cast<float>(sum), dims[kGemmActivation], dims[kGemmClipLow], dims[kGemmClipHigh]);
      }
    }
  }
  return out;
}

std::vector<float> packed_constant(const std::vector<int32_t>& dims, const float* operand, bool is_a, int32_t tile) {
  const GemmOffset at{dims};
  const int32_t extent = is_a ? dims[kGemmM] : dims[kGemmN], depth = dims[kGemmK];
  const int32_t whole = round_up(extent, tile);
  std::vector<float> packed(
      static_cast<size_t>(dims[kGemmBatchInner]) * static_cast<size_t>(whole) * static_cast<size_t>(depth), 0.0f);
  for (int32_t g = 0; g < dims[kGemmBatchInner]; ++g) {
    for (int32_t k = 0; k < depth; ++k) {
      for (int32_t i = 0; i < extent; ++i) {
        const int64_t to = ((int64_t{g} * (whole / tile) + i / tile) * depth + k) * tile + i % tile;
        packed[static_cast<size_t>(to)] = operand[is_a ? at.a(g, i, k) : at.b(g, k, i)];
      }
    }
  }
  return packed;
}

namespace {

int32_t block(int32_t knob, int32_t extent, int32_t tile) {
  return std::min(round_up(knob, tile), round_up(extent, tile));
}

}  // namespace

int32_t gemm_items(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs) {
  const int32_t block_m = block(knobs[kKnobBlockM], dims[kGemmM], knobs[kKnobTileM]);
  const int32_t block_n = block(knobs[kKnobBlockN], dims[kGemmN], knobs[kKnobTileVectors] * knobs[kKnobLanes]);
  return dims[kGemmBatch] * ((dims[kGemmM] + block_m - 1) / block_m) * ((dims[kGemmN] + block_n - 1) / block_n);
}

size_t gemm_workspace_floats(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs) {
  const int32_t block_m = block(knobs[kKnobBlockM], dims[kGemmM], knobs[kKnobTileM]);
  const int32_t block_n = block(knobs[kKnobBlockN], dims[kGemmN], knobs[kKnobTileVectors] * knobs[kKnobLanes]);
  const int32_t block_k = std::min(knobs[kKnobBlockK], dims[kGemmK]);
  const bool a = knobs[kKnobA] == kPanel || knobs[kKnobA] == kRows, b = knobs[kKnobB] == kPanel;
  return static_cast<size_t>((a ? round_up(block_m * block_k, 16) : 0) + (b ? round_up(block_n * block_k, 16) : 0));
}

std::vector<float> naive_depthwise(const std::vector<int32_t>& dims, const float* image, const float* filter,
                                   const float* bias, const float* addend) {
  const int64_t size = int64_t{dims[kDwBatch]} * dims[kDwC] * dims[kDwOutH] * dims[kDwOutW];
  std::vector<float> out(static_cast<size_t>(size));
  for (int64_t at = 0; at < size; ++at) {
    const int64_t ow = at % dims[kDwOutW], oh = at / dims[kDwOutW] % dims[kDwOutH];
    const int64_t c = at / dims[kDwOutW] / dims[kDwOutH] % dims[kDwC],
                  n = at / dims[kDwOutW] / dims[kDwOutH] / dims[kDwC];
    double sum = 0.0;
    for (int32_t kh = 0; kh < dims[kDwKernelH]; ++kh) {
      for (int32_t kw = 0; kw < dims[kDwKernelW]; ++kw) {
        const int64_t ih = oh * dims[kDwStrideH] - dims[kDwPadTop] + int64_t{kh} * dims[kDwDilationH];
        const int64_t iw = ow * dims[kDwStrideW] - dims[kDwPadLeft] + int64_t{kw} * dims[kDwDilationW];
        if (ih >= 0 && ih < dims[kDwInH] && iw >= 0 && iw < dims[kDwInW]) {
          const float x = image[n * dims[kDwInN] + c * dims[kDwInC] + ih * dims[kDwInRow] + iw * dims[kDwInPixel]];
          sum +=
              static_cast<double>(x) * static_cast<double>(filter[(c * dims[kDwKernelH] + kh) * dims[kDwKernelW] + kw]);
        }
      }
    }
    const int64_t place = n * dims[kDwOutN] + c * dims[kDwOutC] + oh * dims[kDwOutRow] + ow * dims[kDwOutPixel];
    sum += dims[kDwBias] != 0 ? static_cast<double>(bias[c]) : 0.0;
    sum += dims[kDwAddend] != 0 ? static_cast<double>(addend[place]) : 0.0;
    out[static_cast<size_t>(place)] =
        activate(static_cast<float>(sum), dims[kDwActivation], dims[kDwClipLow], dims[kDwClipHigh]);
  }
  return out;
}

bool packs_depthwise_filter(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs) {
  return dims[kDwChannelsLast] != 0 && dims[kDwFilterConstant] != 0 && knobs[kDwKnobLanes] > 1;
}

std::vector<float> packed_depthwise_filter(const std::vector<int32_t>& dims, const float* filter, int32_t block) {
  const int32_t taps = dims[kDwKernelH] * dims[kDwKernelW];
  std::vector<float> packed(static_cast<size_t>(round_up(dims[kDwC], block) * taps), 0.0f);
  for (int32_t c = 0; c < dims[kDwC]; ++c) {
    for (int32_t tap = 0; tap < taps; ++tap) {
      packed[static_cast<size_t>((c / block * taps + tap) * block + c % block)] = filter[c * taps + tap];
    }
  }
  return packed;
}

int32_t depthwise_items(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs) {
  const int32_t block = dims[kDwChannelsLast] != 0 ? knobs[kDwKnobVectors] * knobs[kDwKnobLanes] : 1;
  const int32_t rows = std::min(knobs[kDwKnobRows], dims[kDwOutH]);
  return dims[kDwBatch] * ((dims[kDwC] + block - 1) / block) * ((dims[kDwOutH] + rows - 1) / rows);
}

std::vector<Target> runnable_targets() {
  Target masked = native_target(), unmasked = native_target(), scalar = native_target();
  masked.name = "native, at most 8 lanes";
  masked.lanes = std::min<uint16_t>(masked.lanes, 8);
  unmasked.name = "native, 4 lanes, no masks";
  unmasked.lanes = 4;
  unmasked.masked_stores = false;
  scalar.name = "native, no vectors";
  scalar.lanes = 1;
  scalar.masked_stores = false;
  return {native_target(), masked, unmasked, scalar};
}

}  // namespace temper
