#include "codegen/kernel_compiler.h"

#include <doctest/doctest.h>

#include <bit>
#include <random>

#include "schedules/templates.h"
#include "tests/codegen/naive_kernel.h"

namespace temper {
namespace {

int32_t pick(std::mt19937& random, std::initializer_list<int32_t> values) {
  return values.begin()[random() % values.size()];
}

int32_t between(std::mt19937& random, int32_t low, int32_t high) {
  return low + static_cast<int32_t>(random() % static_cast<uint32_t>(high - low + 1));
}

/// Lengths that end a tile early, exactly, or just after it.
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
  s.groups = pick(random, {1, 1, 1, 2, 3});
  s.batch = pick(random, {1, 1, 2});
  s.channels = s.groups * pick(random, {1, 2, 3, 5, 8, 17, 70});
  s.out_channels = s.groups * pick(random, {2, 3, 8, 20, 33});
  s.height = between(random, 1, 12);
  s.width = between(random, 1, 24);
  s.kernel_h = pick(random, {1, 1, 2, 3, 5});
  s.kernel_w = pick(random, {1, 1, 3, 3, 4});
  s.stride_h = pick(random, {1, 1, 2, 3});
  s.stride_w = pick(random, {1, 1, 2, 3});
  s.dilation_h = pick(random, {1, 1, 2});
  s.dilation_w = pick(random, {1, 1, 2});
  s.pad_top = between(random, 0, 3);
  s.pad_left = between(random, 0, 3);
  s.pad_bottom = between(random, 0, 3);
  s.pad_right = between(random, 0, 3);
  s.height = std::max(s.height, s.dilation_h * (s.kernel_h - 1) + 1);
  s.width = std::max(s.width, s.dilation_w * (s.kernel_w - 1) + 1);
  s.layout = random() % 2 == 0 ? Layout::kNchw : Layout::kNhwc;
  s.filter_constant = random() % 2 == 0;
  random_epilogue(random, workload);
  return workload;
}

std::vector<int32_t> random_gemm_knobs(std::mt19937& random, const std::vector<int32_t>& dims, const Target& target) {
  std::vector<int32_t> knobs(kGemmKnobCount);
  knobs[kKnobTileM] = pick(random, {1, 2, 3, 4, 6, 8, 14});
  knobs[kKnobTileVectors] = pick(random, {1, 2, 3});
  knobs[kKnobLanes] = random() % 4 == 0 ? std::max(1, target.lanes / 2) : target.lanes;
  knobs[kKnobUnrollK] = pick(random, {1, 2, 4});
  std::vector<int32_t> a = {kPanel}, b = {kPanel};
  if (dims[kGemmView] != kViewImageIsA) {
    a.push_back(kDirect);
  }
  if (dims[kGemmView] != kViewImageIsB || random() % 2 == 0) {
    a.push_back(kRows);
  }
  if (dims[kGemmBN] == 1 && dims[kGemmView] == kViewPlain) {
    b.push_back(kDirect);
  }
  knobs[kKnobA] = a[random() % a.size()];
  knobs[kKnobB] = b[random() % b.size()];
  // An image changes with every execution; the filter beside it may be packed once.
  if (dims[kGemmAConstant] != 0 && random() % 2 == 0) {
    knobs[kKnobA] = kConstant;
  } else if (dims[kGemmBConstant] != 0 && random() % 2 == 0) {
    knobs[kKnobB] = kConstant;
  }
  knobs[kKnobBlockM] = pick(random, {1, 8, 24, 64, 100000});
  knobs[kKnobBlockN] = pick(random, {1, 16, 48, 100000});
  knobs[kKnobBlockK] = pick(random, {1, 7, 16, 32, 100000});
  knobs[kKnobInnerLoop] = static_cast<int32_t>(random() % 2);
  return knobs;
}

/// Runs the kernel over the grid cut into pieces, all tensors ending (or starting) at inaccessible pages; compares
/// exactly.
void check_gemm(KernelLoader& loader, const Target& target, const KernelCase& one, KernelMode mode,
                std::mt19937& random) {
  CAPTURE(one.text());
  CAPTURE(static_cast<int>(mode));
  const Result<ObjectFile> object = compile_kernels(target, {{TemplateId::kGemm, mode, one.dims, one.knobs, "kernel"}});
  REQUIRE_MESSAGE(object.ok(), (object.ok() ? "" : object.error().message));
  uint32_t handle = 0;
  Result<temper_kernel> kernel = loader.load((*object).bytes, "kernel", &handle);
  REQUIRE(kernel.ok());

  const GemmSizes sizes = gemm_sizes(one.dims);
  const auto edge = random() % 2 == 0 ? PagedTensor::Edge::kEnd : PagedTensor::Edge::kStart;
  PagedTensor a(sizes.a, edge), b(sizes.b, edge), bias(sizes.bias, edge), addend(sizes.out, edge), out(sizes.out, edge);
  for (PagedTensor* tensor : {&a, &b, &bias, &addend}) {
    tensor->fill_integers(random);
  }
  out.poison();
  const std::vector<float> expected = naive_gemm(one.dims, a.data(), b.data(), bias.data(), addend.data());
  const float* use_a = a.data();
  const float* use_b = b.data();
  std::vector<float> constant;
  if (one.knobs[kKnobA] == kConstant || one.knobs[kKnobB] == kConstant) {
    const bool is_a = one.knobs[kKnobA] == kConstant;
    constant = packed_constant(one.dims, is_a ? a.data() : b.data(), is_a,
                               is_a ? one.knobs[kKnobTileM] : one.knobs[kKnobTileVectors] * one.knobs[kKnobLanes]);
  }
  PagedTensor packed(constant.size(), edge);
  std::copy(constant.begin(), constant.end(), packed.data());
  (one.knobs[kKnobA] == kConstant   ? use_a
   : one.knobs[kKnobB] == kConstant ? use_b
                                    : use_a) = constant.empty() ? use_a : packed.data();
  // The end of the workspace counts, its start is aligned by contract.
  PagedTensor workspace((gemm_workspace_floats(one.dims, one.knobs) + 15) / 16 * 16, PagedTensor::Edge::kEnd);
  std::vector<int32_t> args = one.dims;
  args.insert(args.end(), one.knobs.begin(), one.knobs.end());
  const bool swapped = one.dims[kGemmASource] == TEMPER_IN_B;
  const int32_t items = gemm_items(one.dims, one.knobs);
  for (int32_t begin = 0; begin < items;) {
    const int32_t end = std::min(items, begin + between(random, 1, 3));
    workspace.poison();
    (*kernel)(out.data(), swapped ? use_b : use_a, swapped ? use_a : use_b, sizes.bias == 0 ? nullptr : bias.data(),
              one.dims[kGemmAddend] == 0 ? nullptr : addend.data(), workspace.data(), args.data(), begin, end);
    begin = end;
  }
  size_t wrong = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    wrong += out[i] == expected[i] ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(out.slack_intact());
  CHECK(workspace.slack_intact());
  loader.unload(handle);
}

}  // namespace

TEST_CASE("a matmul kernel equals the naive sum for random shapes, knobs and pieces of the grid") {
  std::mt19937 random(20240517);
  Result<KernelLoader> loader = KernelLoader::create();
  REQUIRE(loader.ok());
  for (const Target& target : runnable_targets()) {
    CAPTURE(target.name);
    for (int i = 0; i < 50; ++i) {
      const KernelMode mode = i % 2 == 0 ? KernelMode::kBaked : KernelMode::kPack;
      KernelCase one;
      one.dims = dims_of(random_matmul(random));
      one.knobs = random_gemm_knobs(random, one.dims, target);
      CAPTURE(i);
      check_gemm(*loader, target, one, mode, random);
    }
  }
}

TEST_CASE("a convolution kernel equals the naive sum for random shapes, layouts, knobs and pieces of the grid") {
  std::mt19937 random(771);
  Result<KernelLoader> loader = KernelLoader::create();
  REQUIRE(loader.ok());
  for (const Target& target : runnable_targets()) {
    CAPTURE(target.name);
    for (int i = 0; i < 50; ++i) {
      const KernelMode mode = i % 2 == 0 ? KernelMode::kBaked : KernelMode::kPack;
      Workload workload = random_conv(random);
      while (template_of(workload) != TemplateId::kGemm) {
        workload = random_conv(random);
      }
      KernelCase one;
      one.dims = dims_of(workload);
      one.knobs = random_gemm_knobs(random, one.dims, target);
      CAPTURE(i);
      check_gemm(*loader, target, one, mode, random);
    }
  }
}

}  // namespace temper
