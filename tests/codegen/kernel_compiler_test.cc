#include "codegen/kernel_compiler.h"

#include <doctest/doctest.h>

#include <random>

#include "schedules/templates.h"
#include "tests/codegen/naive_kernel.h"
#include "tests/codegen/random_kernels.h"

namespace temper {
namespace {

/// Runs the kernel over the grid cut into pieces, all tensors ending (or starting) at inaccessible pages; compares
/// exactly.
void check_gemm(KernelLoader& loader, const Target& target, const KernelCase& one, KernelMode mode,
                std::mt19937& random) {
  CAPTURE(one.text());
  CAPTURE(static_cast<int>(mode));
  const FixedDims fixed = mode == KernelMode::kPack ? random_fixed_dims(random, one.dims) : FixedDims();
  const Result<ObjectFile> object =
      compile_kernels(target, {{TemplateId::kGemm, mode, one.dims, one.knobs, "kernel", fixed}});
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
      KernelCase one;
      one.dims = dims_of(random_conv(random));
      one.knobs = random_gemm_knobs(random, one.dims, target);
      CAPTURE(i);
      check_gemm(*loader, target, one, mode, random);
    }
  }
}

TEST_CASE("a kernel that knows what its workloads share is smaller than one that takes it as arguments") {
  Workload workload;
  workload.op = Operator::kConv2d;
  Conv2dShape& s = workload.conv;
  s.channels = 32;
  s.height = s.width = 16;
  s.out_channels = 64;
  s.layout = Layout::kNhwc;
  s.filter_constant = true;
  workload.epilogue.bias = true;
  const FixedDims same = [&] {
    const std::vector<int32_t> dims = dims_of(workload);
    s.height = 12;  // of two maps: as many rows differ
    const std::vector<int32_t> others = dims_of(workload);
    FixedDims fixed(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      fixed[i] = dims[i] == others[i] ? std::optional<int32_t>(dims[i]) : std::nullopt;
    }
    return fixed;
  }();
  for (const char* name : {"x86_64-linux", "cortex-m4", "cortex-m55"}) {
    CAPTURE(name);
    const Target target = *find_target(name);
    for (const int32_t b : {int32_t{kPanel}, int32_t{kConstant}}) {
      const std::vector<int32_t> knobs = {4, target.lanes == 1 ? 4 : 2, target.lanes, 2, kDirect, b, 0, 0, 0, 0};
      const Result<ObjectFile> any = compile_kernels(target, {{TemplateId::kGemm, KernelMode::kPack, {}, knobs, "k"}});
      const Result<ObjectFile> one =
          compile_kernels(target, {{TemplateId::kGemm, KernelMode::kPack, {}, knobs, "k", same}});
      REQUIRE(any.ok());
      REQUIRE(one.ok());
      CHECK(one->code_bytes * 10 < any->code_bytes * 9);
    }
  }
}

// They are multiplied too, and denormal numbers would cost hundreds of cycles each.
TEST_CASE("rows of a packed image that no output has are zeros, whatever the workspace held") {
  std::mt19937 random(5);
  Result<KernelLoader> loader = KernelLoader::create();
  REQUIRE(loader.ok());
  Workload workload;
  workload.op = Operator::kConv2d;
  Conv2dShape& s = workload.conv;
  s.channels = 4;
  s.height = s.width = 5;
  s.out_channels = 6;
  s.kernel_h = s.kernel_w = 3;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
  s.layout = Layout::kNhwc;
  const std::vector<int32_t> dims = dims_of(workload);
  for (const Target& target : runnable_targets()) {
    CAPTURE(target.name);
    const std::vector<int32_t> knobs = {4, 1, target.lanes, 1, kRows, kPanel, 65535, 65535, 65535, 0};
    const Result<ObjectFile> object =
        compile_kernels(target, {{TemplateId::kGemm, KernelMode::kPack, dims, knobs, "kernel"}});
    REQUIRE(object.ok());
    uint32_t handle = 0;
    Result<temper_kernel> kernel = loader->load((*object).bytes, "kernel", &handle);
    REQUIRE(kernel.ok());
    const GemmSizes sizes = gemm_sizes(dims);
    PagedTensor a(sizes.a, PagedTensor::Edge::kEnd), b(sizes.b, PagedTensor::Edge::kEnd),
        out(sizes.out, PagedTensor::Edge::kEnd);
    a.fill_integers(random);
    b.fill_integers(random);
    PagedTensor workspace((gemm_workspace_floats(dims, knobs) + 15) / 16 * 16, PagedTensor::Edge::kEnd);
    workspace.poison();
    std::vector<int32_t> args = dims;
    args.insert(args.end(), knobs.begin(), knobs.end());
    (*kernel)(out.data(), a.data(), b.data(), nullptr, nullptr, workspace.data(), args.data(), 0, 1);
    const size_t depth = 9 * 4;
    for (size_t i = 25 * depth; i < 28 * depth; ++i) {
      CHECK(workspace[i] == 0.0f);
    }
    loader->unload(handle);
  }
}

}  // namespace temper
