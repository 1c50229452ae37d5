#include "schedules/workload.h"

#include <doctest/doctest.h>

#include "tests/schedules/random_workload.h"

using namespace temper;

namespace {

Workload conv(int32_t channels, int32_t size, int32_t out_channels) {
  Workload workload;
  workload.op = Operator::kConv2d;
  workload.conv.channels = channels;
  workload.conv.height = workload.conv.width = size;
  workload.conv.out_channels = out_channels;
  return workload;
}

std::string refusal(const Workload& workload) {
  const Result<Workload> result = validated(workload);
  return result.ok() ? "accepted" : result.error().message;
}

std::string refusal(const std::string& text) {
  const Result<Workload> result = parse_workload(text);
  return result.ok() ? "accepted" : result.error().message;
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("canonical text of any valid workload parses back to it and is unique") {
  Random random(20261130);
  for (int i = 0; i < 2000; ++i) {
    const Workload workload = test::random_workload(random, 40);
    const Workload other = test::random_workload(random, 40);
    const std::string text = canonical_text(workload);
    INFO(text);
    const Result<Workload> parsed = parse_workload(text);
    REQUIRE(parsed.ok());
    CHECK(*parsed == workload);
    CHECK((workload_key(workload) == workload_key(other)) == (workload == other));
    CHECK((text == canonical_text(other)) == (workload == other));
  }
}

TEST_CASE("known shapes have the text, key, flops, elements and table form that files rely on") {
  Workload first = conv(3, 224, 32);
  first.conv.kernel_h = first.conv.kernel_w = 3;
  first.conv.stride_h = first.conv.stride_w = 2;
  first.conv.pad_top = first.conv.pad_left = first.conv.pad_bottom = first.conv.pad_right = 1;
  first.epilogue.bias = true;
  first.epilogue.activation = Activation::kClip;
  first.epilogue.high = 6.0f;
  CHECK(canonical_text(first) == "conv2d f32 nchw 1x3x224x224 o32 k3x3 s2x2 p1,1,1,1 d1x1 g1 bias clip(0,6)");
  CHECK(workload_key(first) == 0xfb126c10a387c242u);
  CHECK(flops(first) == 2u * 32 * 112 * 112 * 27);
  CHECK(tensor_elements(first) == std::array<uint32_t, 5>{32 * 112 * 112, 3 * 224 * 224, 32 * 27, 32, 0});
  CHECK(shape_text(first) == "1x3x224x224 -> 32, 3x3 s2");
  CHECK(operator_name(first) == "conv2d");
  CHECK(reduction_length(first) == 27);

  Workload dense;
  dense.matmul.batch = 12;
  dense.matmul.m = 128;
  dense.matmul.k = 64;
  dense.matmul.n = 256;
  dense.matmul.transpose_b = dense.matmul.b_constant = true;
  dense.epilogue.addend = true;
  dense.epilogue.activation = Activation::kRelu;
  CHECK(canonical_text(dense) == "matmul f32 12x128x64x256 tb bconst addend relu");
  CHECK(flops(dense) == 2u * 12 * 128 * 64 * 256);
  CHECK(tensor_elements(dense) ==
        std::array<uint32_t, 5>{12 * 128 * 256, 12 * 128 * 64, 12 * 64 * 256, 0, 12 * 128 * 256});
  CHECK(shape_text(dense) == "12 of 128x64 * 64x256");

  Workload grouped = conv(32, 14, 64);
  grouped.conv.groups = 4;
  grouped.conv.dilation_h = 2;
  grouped.conv.kernel_h = 3;
  grouped.conv.layout = Layout::kNhwc;
  grouped.conv.filter_constant = false;
  CHECK(canonical_text(grouped) == "conv2d f32 nhwc 1x32x14x14 o64 k3x1 s1x1 p0,0,0,0 d2x1 g4 fvar");
  CHECK(shape_text(grouped) == "1x32x14x14 -> 64, 3x1 d2x1 g4");
  CHECK(grouped.conv.out_height() == 10);
}

TEST_CASE("what says nothing does not make a second workload") {
  Workload workload;
  workload.matmul.a_shared = true;  // batch 1
  workload.epilogue.low = 3.0f;     // no clip
  workload.conv.channels = 7;       // not a convolution
  REQUIRE(validated(workload).ok());
  CHECK(*validated(workload) == Workload{});

  Workload clip;
  clip.epilogue.activation = Activation::kClip;
  clip.epilogue.low = -0.0f;
  clip.epilogue.high = 0.1f;
  CHECK(canonical_text(*validated(clip)) == "matmul f32 1x1x1x1 clip(0,0.1)");
}

TEST_CASE("invalid shapes are refused with what is wrong") {
  Workload zero = conv(3, 8, 0);
  CHECK(mentions(refusal(zero), "out_channels is 0"));
  Workload negative = conv(3, 8, 4);
  negative.conv.pad_left = -1;
  CHECK(mentions(refusal(negative), "pad_left is -1, must be at least 0"));
  Workload groups = conv(6, 8, 4);
  groups.conv.groups = 3;
  CHECK(mentions(refusal(groups), "groups 3 must divide channels 6 and out_channels 4"));
  Workload empty = conv(3, 4, 4);
  empty.conv.kernel_h = 3;
  empty.conv.dilation_h = 2;
  CHECK(mentions(refusal(empty), "output is empty: dilated kernel spans 5 of padded height 4"));
  Workload huge = conv(1024, 1024, 512);
  CHECK(mentions(refusal(huge), "image has 2^31 bytes or more"));
  Workload vast;
  vast.matmul.m = vast.matmul.n = vast.matmul.k = vast.matmul.batch = INT32_MAX;
  CHECK(mentions(refusal(vast), "a has 2^31 bytes or more"));
  Workload far = conv(1, 8, 1);
  far.conv.dilation_w = far.conv.kernel_w = INT32_MAX;
  CHECK(mentions(refusal(far), "output is empty"));
  Workload padded = conv(1, 8, 1);
  padded.conv.pad_top = padded.conv.pad_bottom = INT32_MAX;
  CHECK(mentions(refusal(padded), "padded height or its stride is beyond 2^30"));
  Workload matmul;
  matmul.matmul.k = 0;
  CHECK(mentions(refusal(matmul), "k is 0"));
  Workload clip;
  clip.epilogue.activation = Activation::kClip;
  clip.epilogue.low = 2.0f;
  clip.epilogue.high = 1.0f;
  CHECK(mentions(refusal(clip), "clip from 2 to 1 is not an interval"));
  clip.epilogue.high = __builtin_nanf("");
  CHECK(mentions(refusal(clip), "is not an interval"));
}

TEST_CASE("text that is not canonical is refused with the word at fault") {
  CHECK(mentions(refusal(""), "unknown operator \"\""));
  CHECK(mentions(refusal("pool f32 1x2"), "unknown operator \"pool\""));
  CHECK(mentions(refusal("matmul f16 1x2x3x4"), "unknown type \"f16\""));
  CHECK(mentions(refusal("matmul f32"), "ends early"));
  CHECK(mentions(refusal("matmul f32 1x2x3"), "cannot read \"1x2x3\""));
  CHECK(mentions(refusal("matmul f32 1x2x3x4x5"), "cannot read \"1x2x3x4x5\""));
  CHECK(mentions(refusal("matmul f32 1x2x3x99999999999"), "cannot read"));
  CHECK(mentions(refusal("matmul f32 1x2x3x4 gelu"), "cannot read \"gelu\""));
  CHECK(mentions(refusal("matmul f32 1x2x3x4 clip(1,"), "cannot read \"clip(1,\""));
  CHECK(mentions(refusal("matmul f32 1x2x3x4 clip(1,2x)"), "cannot read"));
  CHECK(mentions(refusal("matmul f32 1x2x3x4 relu bias"),
                 "not in canonical form; write \"matmul f32 1x2x3x4 bias relu\""));
  CHECK(mentions(refusal("matmul f32 1x2x3x4 "), "cannot read \"\""));
  CHECK(mentions(refusal("matmul f32 01x2x3x4"), "not in canonical form"));
  CHECK(mentions(refusal("matmul f32 1x0x3x4"), "m is 0"));
  const std::string good = "conv2d f32 nhwc 1x3x8x8 o4 k3x3 s1x1 p1,1,1,1 d1x1 g1";
  CHECK(refusal(good) == "accepted");
  for (size_t length = 0; length < good.size(); ++length) {
    CHECK(refusal(good.substr(0, length)) != "accepted");
  }
}
