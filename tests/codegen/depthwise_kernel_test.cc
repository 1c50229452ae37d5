#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "codegen/kernel_compiler.h"
#include "tests/codegen/naive_kernel.h"
#include "tests/codegen/random_kernels.h"

namespace temper {
namespace {

void check_depthwise(KernelLoader& loader, const Target& target, const KernelCase& one, KernelMode mode,
                     std::mt19937& random) {
  CAPTURE(one.text());
  CAPTURE(static_cast<int>(mode));
  const FixedDims fixed = mode == KernelMode::kPack ? random_fixed_dims(random, one.dims) : FixedDims();
  const Result<ObjectFile> object =
      compile_kernels(target, {{TemplateId::kDepthwise, mode, one.dims, one.knobs, "kernel", fixed}});
  REQUIRE_MESSAGE(object.ok(), (object.ok() ? "" : object.error().message));
  uint32_t handle = 0;
  Result<temper_kernel> kernel = loader.load((*object).bytes, "kernel", &handle);
  REQUIRE(kernel.ok());

  const std::vector<int32_t>& d = one.dims;
  const auto edge = random() % 2 == 0 ? PagedTensor::Edge::kEnd : PagedTensor::Edge::kStart;
  const size_t outputs = static_cast<size_t>(d[kDwBatch] * d[kDwC] * d[kDwOutH] * d[kDwOutW]);
  PagedTensor image(static_cast<size_t>(d[kDwBatch] * d[kDwC] * d[kDwInH] * d[kDwInW]), edge);
  PagedTensor filter(static_cast<size_t>(d[kDwC] * d[kDwKernelH] * d[kDwKernelW]), edge);
  PagedTensor bias(static_cast<size_t>(d[kDwC]), edge), addend(outputs, edge), out(outputs, edge);
  for (PagedTensor* tensor : {&image, &filter, &bias, &addend}) {
    tensor->fill_integers(random);
  }
  out.poison();
  const std::vector<float> expected = naive_depthwise(d, image.data(), filter.data(), bias.data(), addend.data());
  const bool packs = packs_depthwise_filter(d, one.knobs);
  const std::vector<float> constant =
      packs ? packed_depthwise_filter(d, filter.data(), one.knobs[kDwKnobVectors] * one.knobs[kDwKnobLanes])
            : std::vector<float>{};
  PagedTensor packed(constant.size(), edge);
  std::copy(constant.begin(), constant.end(), packed.data());
  std::vector<int32_t> args = d;
  args.insert(args.end(), one.knobs.begin(), one.knobs.end());
  const int32_t items = depthwise_items(d, one.knobs);
  for (int32_t begin = 0; begin < items;) {
    const int32_t end = std::min(items, begin + between(random, 1, 5));
    (*kernel)(out.data(), image.data(), packs ? packed.data() : filter.data(), d[kDwBias] == 0 ? nullptr : bias.data(),
              d[kDwAddend] == 0 ? nullptr : addend.data(), nullptr, args.data(), begin, end);
    begin = end;
  }
  size_t wrong = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    wrong += out[i] == expected[i] ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(out.slack_intact());
  loader.unload(handle);
}

}  // namespace

TEST_CASE("a depthwise kernel equals the naive sum for random windows, layouts, knobs and pieces of the grid") {
  std::mt19937 random(4711);
  Result<KernelLoader> loader = KernelLoader::create();
  REQUIRE(loader.ok());
  for (const Target& target : runnable_targets()) {
    CAPTURE(target.name);
    for (int i = 0; i < 50; ++i) {
      const KernelMode mode = i % 2 == 0 ? KernelMode::kBaked : KernelMode::kPack;
      KernelCase one;
      one.dims = dims_of(random_depthwise(random));
      one.knobs = random_depthwise_knobs(random, one.dims, target);
      CAPTURE(i);
      check_depthwise(*loader, target, one, mode, random);
    }
  }
}

}  // namespace temper
