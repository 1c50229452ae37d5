// Writes an object of kernels for a target and of cases for them (kernel_cases.h): every tile and way of reading the
// operands that fits the target's registers, with run-time sizes and baked, over random workloads with tails of every
// kind. Called by the tests that run the object in an emulator.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "codegen/kernel_compiler.h"
#include "tests/codegen/emulated/kernel_cases.h"
#include "tests/codegen/naive_kernel.h"
#include "tests/codegen/random_kernels.h"

namespace temper {
namespace {

struct Options {
  std::string target, output;
  size_t every, first;    ///< of all variants: first, first + every, ...
  int32_t cases;          ///< of each variant with run-time sizes; it gets half as many baked ones, at least one
  uint32_t tensor_words;  ///< of all tensors of a case together
  bool planted;           ///< the first case expects something else than the right output
};

/// A kernel and what it is called with.
struct Variant {
  TemplateId id;
  std::vector<int32_t> knobs;  ///< run knobs are set by case
};

bool fits(const Target& target, int32_t accumulators, int32_t vectors) {
  return accumulators + vectors + 1 <= target.registers;
}

std::vector<int32_t> lane_counts(const Target& target) {
  std::vector<int32_t> counts = {target.lanes};
  if (target.lanes > 4) {
    counts.push_back(target.lanes / 2);
  }
  if (target.lanes > 1) {
    counts.push_back(1);
  }
  return counts;
}

std::vector<Variant> all_variants(const Target& target) {
  std::vector<Variant> variants;
  const int32_t tiles[][2] = {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {3, 1}, {3, 4}, {4, 1},
                              {4, 3}, {5, 4}, {6, 1}, {6, 2}, {7, 3}, {8, 3}, {13, 2}};
  const std::vector<int32_t> lane_choices = lane_counts(target);
  for (const auto& tile : tiles) {
    if (!fits(target, tile[0] * tile[1], tile[1])) {
      continue;
    }
    for (int32_t a : {kDirect, kPanel, kRows, kConstant}) {
      for (int32_t b : {kDirect, kPanel, kConstant}) {
        for (int32_t unroll : {1, 4}) {
          const bool none = (a == kConstant && b == kConstant) || (a == kRows && b == kDirect);  // no workload allows
          if (!none) {
            const int32_t lanes = lane_choices[variants.size() % 5 == 4 ? lane_choices.size() - 1 : 0];
            variants.push_back({TemplateId::kGemm, {tile[0], tile[1], lanes, unroll, a, b, 0, 0, 0, 0}});
          }
        }
      }
    }
  }
  const int32_t windows[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {3, 2, 1}, {4, 1, 2}, {2, 2, 2},
                                {5, 3, 1}, {3, 1, 3}, {7, 2, 1}, {4, 4, 1}, {3, 2, 4}};
  for (const auto& window : windows) {
    for (int32_t lanes : lane_choices) {
      if (fits(target, window[0] * window[1] * window[2], window[2])) {
        variants.push_back({TemplateId::kDepthwise, {window[0], window[1], window[2], lanes, 0, 0}});
      }
    }
  }
  return variants;
}

struct Tensor {
  uint32_t contents = kAbsent;
  std::vector<float> values;
};

struct Case {
  std::vector<int32_t> dims, knobs;
  Tensor inputs[4];
  std::vector<float> out;
  uint32_t items = 0, workspace = 0, seed = 0;
  float tolerance = 0.0f;  ///< 0: exact

  size_t tensor_words() const {
    size_t words = out.size() + workspace;
    for (const Tensor& tensor : inputs) {
      words += tensor.values.size();
    }
    return words;
  }
};

Tensor filled(Case& one, uint32_t index, size_t count) {
  Tensor tensor;
  tensor.contents = one.tolerance > 0.0f ? kFloats : kIntegers;
  uint32_t state = case_seed(one.seed, index);
  for (size_t i = 0; i < count; ++i) {
    tensor.values.push_back(one.tolerance > 0.0f ? case_float(&state) : case_integer(&state));
  }
  return tensor;
}

/// Replaces a tensor by its packed form, whose contents must travel.
void pack(Case& one, Tensor& tensor, std::vector<float> packed) {
  tensor.contents = one.tolerance > 0.0f ? kWords : kBytes;
  tensor.values = std::move(packed);
}

void fill_gemm(Case& one) {
  const std::vector<int32_t>& dims = one.dims;
  const GemmSizes sizes = gemm_sizes(dims);
  const uint32_t a_at = dims[kGemmASource] == TEMPER_IN_B ? 1 : 0, b_at = 1 - a_at;
  one.inputs[a_at] = filled(one, a_at, sizes.a);
  one.inputs[b_at] = filled(one, b_at, sizes.b);
  if (sizes.bias > 0) {
    one.inputs[2] = filled(one, 2, sizes.bias);
  }
  if (dims[kGemmAddend] != 0) {
    one.inputs[3] = filled(one, 3, sizes.out);
  }
  Tensor &a = one.inputs[a_at], &b = one.inputs[b_at];
  one.out =
      naive_gemm(dims, a.values.data(), b.values.data(), one.inputs[2].values.data(), one.inputs[3].values.data());
  if (one.knobs[kKnobA] == kConstant) {
    pack(one, a, packed_constant(dims, a.values.data(), true, one.knobs[kKnobTileM]));
  } else if (one.knobs[kKnobB] == kConstant) {
    const int32_t tile = one.knobs[kKnobTileVectors] * one.knobs[kKnobLanes];
    pack(one, b, packed_constant(dims, b.values.data(), false, tile));
  }
  one.items = static_cast<uint32_t>(gemm_items(dims, one.knobs));
  one.workspace = static_cast<uint32_t>(gemm_workspace_floats(dims, one.knobs) + 15) / 16 * 16;
}

void fill_depthwise(Case& one) {
  const std::vector<int32_t>& d = one.dims;
  const auto size = [&](std::initializer_list<DepthwiseDim> list) {
    size_t product = 1;
    for (DepthwiseDim dim : list) {
      product *= static_cast<size_t>(d[dim]);
    }
    return product;
  };
  one.inputs[0] = filled(one, 0, size({kDwBatch, kDwC, kDwInH, kDwInW}));
  one.inputs[1] = filled(one, 1, size({kDwC, kDwKernelH, kDwKernelW}));
  if (d[kDwBias] != 0) {
    one.inputs[2] = filled(one, 2, size({kDwC}));
  }
  if (d[kDwAddend] != 0) {
    one.inputs[3] = filled(one, 3, size({kDwBatch, kDwC, kDwOutH, kDwOutW}));
  }
  Tensor& filter = one.inputs[1];
  one.out = naive_depthwise(d, one.inputs[0].values.data(), filter.values.data(), one.inputs[2].values.data(),
                            one.inputs[3].values.data());
  if (packs_depthwise_filter(d, one.knobs)) {
    pack(one, filter,
         packed_depthwise_filter(d, filter.values.data(), one.knobs[kDwKnobVectors] * one.knobs[kDwKnobLanes]));
  }
  one.items = static_cast<uint32_t>(depthwise_items(d, one.knobs));
}

Case random_case(std::mt19937& random, const Variant& variant, KernelMode mode, bool exact) {
  Case one;
  one.knobs = variant.knobs;
  one.seed = static_cast<uint32_t>(random() & 0x7fffffff);
  one.tolerance = exact ? 0.0f : 1.0f;
  if (variant.id == TemplateId::kDepthwise) {
    do {
      one.dims = dims_of(random_depthwise(random));
    } while (one.knobs[kDwKnobVectors] > 1 && one.dims[kDwChannelsLast] == 0);
    one.knobs[kDwKnobOrder] = static_cast<int32_t>(random() % 2);
    one.knobs[kDwKnobRows] = pick(random, {1, 2, 3, 7, 100000});
    fill_depthwise(one);
  } else {
    const auto legal = [&] {  // with run-time sizes, a tile has no more rows than the matrix
      return reads_operands(one.dims, one.knobs) &&
             (mode == KernelMode::kBaked || one.knobs[kKnobTileM] <= one.dims[kGemmM]);
    };
    do {
      one.dims = dims_of(random() % 2 == 0 ? random_matmul(random) : random_conv(random));
    } while (!legal());
    random_blocks(random, one.knobs);
    fill_gemm(one);
  }
  if (!exact) {  // rounding of a sum of k products below 1, with room
    const int32_t k = variant.id == TemplateId::kGemm ? one.dims[kGemmK] : one.dims[kDwKernelH] * one.dims[kDwKernelW];
    one.tolerance = 1e-6f + 4e-7f * static_cast<float>(k);
  }
  return one;
}

void append_values(std::vector<uint32_t>& words, const Tensor& tensor) {
  if (tensor.contents == kWords) {
    for (float value : tensor.values) {
      words.push_back(std::bit_cast<uint32_t>(value));
    }
  } else if (tensor.contents == kBytes) {
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      if (i % 4 == 0) {
        words.push_back(0);
      }
      words.back() |= static_cast<uint32_t>(static_cast<uint8_t>(static_cast<int8_t>(tensor.values[i]))) << (i % 4 * 8);
    }
  }
}

uint32_t digest_of(const std::vector<float>& out) {
  uint32_t digest = 0x811C9DC5u;
  for (float value : out) {
    digest = (digest ^ std::bit_cast<uint32_t>(value + 0.0f)) * 0x01000193u;  // -0 + 0 is 0
  }
  return digest;
}

void append_case(std::vector<uint32_t>& words, const Case& one, size_t kernel) {
  const size_t start = words.size();
  words.resize(start + kCaseHeader, 0);
  words[start + kCaseKernel] = static_cast<uint32_t>(kernel);
  words[start + kCaseItems] = one.items;
  words[start + kCaseSeed] = one.seed;
  words[start + kCaseWorkspace] = one.workspace;
  words[start + kCaseDigest] = one.tolerance > 0.0f ? 0 : std::max(digest_of(one.out), 1u);
  words[start + kCaseTolerance] = std::bit_cast<uint32_t>(one.tolerance);
  words[start + kCaseArgs] = static_cast<uint32_t>(one.dims.size() + one.knobs.size());
  words[start + kCaseOut] = static_cast<uint32_t>(one.out.size());
  words.insert(words.end(), one.dims.begin(), one.dims.end());
  words.insert(words.end(), one.knobs.begin(), one.knobs.end());
  for (size_t i = 0; i < 4; ++i) {
    words[start + kCaseTensors + 2 * i] = static_cast<uint32_t>(one.inputs[i].values.size());
    words[start + kCaseTensors + 2 * i + 1] = one.inputs[i].contents;
    append_values(words, one.inputs[i]);
  }
  if (one.tolerance > 0.0f) {
    append_values(words, {kWords, one.out});
  }
  words[start + kCaseWords] = static_cast<uint32_t>(words.size() - start);
}

Result<bool> write(const Options& options) {
  const Result<Target> target = find_target(options.target);
  if (!target) {
    return target.error();
  }
  std::mt19937 random(static_cast<uint32_t>(20261130 + options.first));
  const std::vector<Variant> variants = all_variants(*target);
  std::vector<KernelRequest> requests;
  std::vector<uint32_t> words = {0};
  size_t taken = 0;
  const auto small_case = [&](const Variant& variant, KernelMode mode) {
    const bool exact = random() % 4 != 0;
    Case one = random_case(random, variant, mode, exact);
    while (one.tensor_words() > options.tensor_words) {
      one = random_case(random, variant, mode, exact);
    }
    return one;
  };
  const auto request = [&](KernelMode mode, TemplateId id, const Case& one, FixedDims fixed = {}) {
    requests.push_back({id, mode, one.dims, one.knobs, "kernel" + std::to_string(requests.size()), std::move(fixed)});
  };
  for (size_t at = options.first; at < variants.size(); at += options.every, ++taken) {
    for (int32_t i = 0; i < options.cases; ++i) {
      const Case one = small_case(variants[at], KernelMode::kPack);
      if (i == 0) {
        request(KernelMode::kPack, variants[at].id, one);
      }
      append_case(words, one, requests.size() - 1);
      ++words[0];
    }
    for (int32_t i = 0; i < std::max(1, options.cases / 2); ++i) {
      const Case one = small_case(variants[at], KernelMode::kBaked);
      request(KernelMode::kBaked, variants[at].id, one);
      append_case(words, one, requests.size() - 1);
      ++words[0];
    }
    const Case shared = small_case(variants[at], KernelMode::kPack);
    request(KernelMode::kPack, variants[at].id, shared, random_fixed_dims(random, shared.dims));
    append_case(words, shared, requests.size() - 1);
    ++words[0];
  }
  if (options.planted) {
    words[1 + kCaseDigest] = 1;
  }
  std::vector<uint8_t> bytes;
  for (uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<uint8_t>(word >> shift));
    }
  }
  const Result<ObjectFile> object = compile_pack(*target, "cases", bytes, requests);
  if (!object) {
    return object.error();
  }
  std::ofstream file(options.output, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(object->bytes.data()), static_cast<std::streamsize>(object->bytes.size()));
  file.close();
  std::printf("%s: %zu of %zu variants, %zu kernels, %u cases\n", options.target.c_str(), taken, variants.size(),
              requests.size(), words[0]);
  return file ? Result<bool>(true) : Result<bool>(Error{TEMPER_STORAGE_ERROR, options.output + ": cannot be written"});
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  const bool planted = argc == 8 && std::string(argv[7]) == "planted";
  if (argc != 7 && !planted) {
    std::fputs("usage: write_cases TARGET OUTPUT.o EVERY FIRST CASES TENSOR-WORDS [planted]\n", stderr);
    return 2;
  }
  const temper::Options options = {argv[1],
                                   argv[2],
                                   std::stoul(argv[3]),
                                   std::stoul(argv[4]),
                                   std::stoi(argv[5]),
                                   static_cast<uint32_t>(std::stoul(argv[6])),
                                   planted};
  const temper::Result<bool> written = temper::write(options);
  if (!written.ok()) {
    std::fprintf(stderr, "write_cases: %s\n", written.error().message.c_str());
    return 1;
  }
  return 0;
}
