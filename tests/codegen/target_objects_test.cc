#include <doctest/doctest.h>

#include <algorithm>

#include "codegen/kernel_compiler.h"
#include "tests/codegen/object_symbols.h"

namespace temper {
namespace {

/// Every way of reading the operands that a matmul or an image-to-rows convolution has, and depthwise, in both modes.
std::vector<KernelRequest> requests_for(const Target& target) {
  const int32_t lanes = target.lanes;
  std::vector<KernelRequest> requests;
  const auto add = [&](TemplateId id, const Workload& workload, std::vector<int32_t> knobs) {
    for (KernelMode mode : {KernelMode::kBaked, KernelMode::kPack}) {
      requests.push_back({id, mode, dims_of(workload), knobs, "kernel" + std::to_string(requests.size())});
    }
  };
  Workload matmul;
  matmul.op = Operator::kMatmul;
  matmul.matmul = {1, 33, 50, 70, false, false, false, false, true, true};
  matmul.epilogue = {true, true, Activation::kClip, 0.0f, 6.0f};
  for (GemmOperand a : {kDirect, kPanel, kConstant}) {
    for (GemmOperand b : {kDirect, kPanel, kConstant}) {
      if (a != kConstant || b != kConstant) {
        add(TemplateId::kGemm, matmul, {4, 2, lanes, 2, a, b, 16, 32, 24, 0});
      }
    }
  }
  Workload conv;
  conv.op = Operator::kConv2d;
  conv.conv.channels = 5;
  conv.conv.height = conv.conv.width = 9;
  conv.conv.out_channels = 12;
  conv.conv.kernel_h = conv.conv.kernel_w = 3;
  conv.conv.pad_top = conv.conv.pad_left = 1;
  for (Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    conv.conv.layout = layout;
    add(TemplateId::kGemm, conv, {4, 2, lanes, 2, layout == Layout::kNhwc ? kRows : kPanel, kPanel, 16, 32, 24, 1});
    add(TemplateId::kGemm, conv, {4, 2, lanes, 2, kPanel, kPanel, 16, 32, 24, 1});
    Workload depthwise = conv;
    depthwise.conv.groups = depthwise.conv.channels = depthwise.conv.out_channels = 20;
    add(TemplateId::kDepthwise, depthwise, {3, 2, layout == Layout::kNhwc ? 2 : 1, lanes, 0, 4});
  }
  return requests;
}

}  // namespace

TEST_CASE("objects of every target define their kernels and need nothing from outside") {
  for (const std::string& name : target_names()) {
    CAPTURE(name);
    const Target target = *find_target(name);
    const std::vector<KernelRequest> requests = requests_for(target);
    const Result<ObjectFile> object = compile_kernels(target, requests);
    REQUIRE_MESSAGE(object.ok(), (object.ok() ? "" : object.error().message));
    const ObjectSymbols symbols = object_symbols((*object).bytes);
    CHECK(symbols.undefined == std::vector<std::string>{});
    CHECK(symbols.defined.size() == requests.size());
    CHECK((*object).code_bytes > 0);
    CHECK((*object).code_bytes < (*object).bytes.size());
  }
}

TEST_CASE("a compiled pack defines the pack's name alone") {
  for (const char* name : {"cortex-m4", "aarch64-linux", "native"}) {
    CAPTURE(name);
    const Target target = *find_target(name);
    std::vector<KernelRequest> requests = requests_for(target);
    requests.resize(4);
    const Result<ObjectFile> object = compile_pack(target, "board", {1, 2, 3, 4, 5}, requests);
    REQUIRE(object.ok());
    const ObjectSymbols symbols = object_symbols((*object).bytes);
    CHECK(symbols.undefined == std::vector<std::string>{});
    CHECK(symbols.defined == std::vector<std::string>{"board_pack"});
  }
  CHECK_FALSE(compile_pack(*find_target("native"), "not a name", {}, {}).ok());
}

TEST_CASE("an unknown target is refused with the known ones") {
  const Result<Target> target = find_target("pdp11");
  REQUIRE_FALSE(target.ok());
  CHECK(target.error().message.find("cortex-m4") != std::string::npos);
}

TEST_CASE("requests that no kernel can serve are refused with the reason") {
  const Target target = native_target();
  Workload workload;
  workload.op = Operator::kMatmul;
  workload.matmul = {1, 8, 8, 8, false, true, false, false, false, false};
  const auto refusal = [&](std::vector<int32_t> knobs) {
    const Result<ObjectFile> object = compile_kernels(
        target, {{TemplateId::kGemm, KernelMode::kBaked, dims_of(workload), std::move(knobs), "kernel"}});
    return object.ok() ? std::string() : object.error().message;
  };
  CHECK(refusal({4, 1, 4, 1, kDirect, kPanel, 8, 8, 8, 0}) == "");
  CHECK(refusal({4, 1, 4, 1, kDirect, kDirect, 8, 8, 8, 0}).find("neither contiguous along n") != std::string::npos);
  CHECK(refusal({4, 4, 1, 1, kDirect, kDirect, 8, 8, 8, 0}) == "");
  CHECK(refusal({4, 1, 4, 1, kDirect, kConstant, 8, 8, 8, 0}).find("not known before execution") != std::string::npos);
  CHECK(refusal({0, 1, 4, 1, kDirect, kPanel, 8, 8, 8, 0}).find("split") != std::string::npos);
  CHECK(refusal({64, 8, 4, 8, kDirect, kPanel, 8, 8, 8, 0}).find("copies") != std::string::npos);
  CHECK(refusal({4, 1, 64, 1, kDirect, kPanel, 8, 8, 8, 0}).find("lanes") != std::string::npos);
}

}  // namespace temper
