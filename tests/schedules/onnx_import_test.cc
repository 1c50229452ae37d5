// What the importer maps and fuses, read from files that the tests write.
#include "schedules/import/onnx_import.h"

#include <doctest/doctest.h>

#include "tests/schedules/onnx_builder.h"

namespace temper {
namespace {

std::string only_workload(const OnnxBuilder& builder, const ImportOptions& options = {}) {
  const Result<Network> network = import_onnx(builder.write("onnx_import_test"), options);
  if (!network) {
    return network.error().message;
  }
  if (network->workloads.size() != 1) {
    return std::to_string(network->workloads.size()) + " workloads" +
           (network->skipped.empty() ? "" : ": " + network->skipped[0].reason);
  }
  return canonical_text(network->workloads[0].workload);
}

ImportedGraph imported(const OnnxBuilder& builder) {
  Result<ImportedGraph> graph = import_onnx_graph(builder.write("onnx_import_test"), {});
  REQUIRE(graph.ok());
  return *graph;
}

/// A 3x3 convolution 1x4x8x8 -> 6 that writes "y".
OnnxBuilder conv(int64_t opset = 13) {
  OnnxBuilder builder(opset);
  builder.input("x", {1, 4, 8, 8}).constant("w", {6, 4, 3, 3}).node("Conv", {"x", "w"}, "y");
  return builder;
}

TEST_CASE("strides, padding, dilation and groups of a convolution are kept") {
  OnnxBuilder builder;
  builder.input("x", {2, 4, 9, 8}).constant("w", {6, 2, 3, 2}).node("Conv", {"x", "w"}, "y").output("y");
  builder.attribute("strides", std::vector<int64_t>{2, 1}).attribute("pads", std::vector<int64_t>{1, 0, 2, 1});
  builder.attribute("dilations", std::vector<int64_t>{1, 2}).attribute("group", int64_t{2});
  CHECK(only_workload(builder) == "conv2d f32 nchw 2x4x9x8 o6 k3x2 s2x1 p1,0,2,1 d1x2 g2");
}

TEST_CASE("automatic padding puts the odd element where ONNX says") {
  struct Padding {
    const char* auto_pad;
    const char* text;
  };
  for (const Padding& p : {Padding{"SAME_UPPER", "conv2d f32 nchw 1x4x8x8 o6 k3x3 s2x2 p0,0,1,1 d1x1 g1"},
                           Padding{"SAME_LOWER", "conv2d f32 nchw 1x4x8x8 o6 k3x3 s2x2 p1,1,0,0 d1x1 g1"},
                           Padding{"VALID", "conv2d f32 nchw 1x4x8x8 o6 k3x3 s2x2 p0,0,0,0 d1x1 g1"}}) {
    OnnxBuilder builder = conv();
    builder.attribute("strides", std::vector<int64_t>{2, 2}).attribute("auto_pad", std::string(p.auto_pad)).output("y");
    CHECK(only_workload(builder) == p.text);
  }
}

TEST_CASE("a one-dimensional convolution is one of height 1; a three-dimensional one is skipped with its arithmetic") {
  OnnxBuilder line;
  line.input("x", {1, 4, 10}).constant("w", {6, 4, 3}).node("Conv", {"x", "w"}, "y").output("y");
  CHECK(only_workload(line) == "conv2d f32 nchw 1x4x1x10 o6 k1x3 s1x1 p0,0,0,0 d1x1 g1");
  OnnxBuilder solid;
  solid.input("x", {1, 1, 4, 4, 4}).constant("w", {2, 1, 3, 3, 3}).node("Conv", {"x", "w"}, "y").output("y");
  const Result<Network> network = import_onnx(solid.write("onnx_import_test"), {});
  REQUIRE(network.ok());
  CHECK(network->workloads.empty());
  REQUIRE(network->skipped.size() == 1);
  CHECK(network->skipped[0].flops == 2u * (2 * 2 * 2 * 2) * 27);
}

TEST_CASE("bias, residual addition and activation are fused in this order") {
  OnnxBuilder builder = conv();
  builder.input("r", {1, 6, 6, 6}).constant("b", {6, 1, 1});
  builder.node("Add", {"y", "b"}, "t").node("Add", {"r", "t"}, "u").node("Relu", {"u"}, "v").output("v");
  CHECK(only_workload(builder) == "conv2d f32 nchw 1x4x8x8 o6 k3x3 s1x1 p0,0,0,0 d1x1 g1 bias addend relu");
  const ImportedGraph graph = imported(builder);
  CHECK(graph.uncovered.empty());
  REQUIRE(graph.steps.size() == 1);
  CHECK(graph.steps[0].addend.tensor == "r");
  CHECK(graph.steps[0].output == "v");
}

TEST_CASE("an activation before an addition keeps the addition out") {
  OnnxBuilder builder = conv();
  builder.input("r", {1, 6, 6, 6}).node("Relu", {"y"}, "t").node("Add", {"t", "r"}, "u").output("u");
  CHECK(only_workload(builder) == "conv2d f32 nchw 1x4x8x8 o6 k3x3 s1x1 p0,0,0,0 d1x1 g1 relu");
  CHECK(imported(builder).uncovered.size() == 1);
}

TEST_CASE("nothing is fused past a tensor that something else reads") {
  const std::string plain = "conv2d f32 nchw 1x4x8x8 o6 k3x3 s1x1 p0,0,0,0 d1x1 g1";
  OnnxBuilder graph_output = conv();
  graph_output.node("Relu", {"y"}, "z").output("z").output("y");
  CHECK(only_workload(graph_output) == plain);
  OnnxBuilder second_reader = conv();
  second_reader.node("Relu", {"y"}, "z").node("Sigmoid", {"y"}, "s").output("z").output("s");
  CHECK(only_workload(second_reader) == plain);
  OnnxBuilder with_itself = conv();
  with_itself.node("Add", {"y", "y"}, "z").output("z");
  CHECK(only_workload(with_itself) == plain);
}

TEST_CASE("an addition joins one of the two convolutions that feed it") {
  OnnxBuilder builder = conv();
  builder.constant("v", {6, 4, 3, 3}).node("Conv", {"x", "v"}, "z").node("Add", {"y", "z"}, "sum").output("sum");
  const ImportedGraph graph = imported(builder);
  CHECK(graph.uncovered.empty());
  REQUIRE(graph.steps.size() == 2);
  CHECK(!graph.steps[0].workload.epilogue.addend);
  CHECK(graph.steps[0].output == "z");
  CHECK(graph.steps[1].workload.epilogue.addend);
  CHECK(graph.steps[1].addend.tensor == "z");
  CHECK(graph.steps[1].output == "sum");
}

TEST_CASE("an addition that broadcasts is not fused as a residual") {
  OnnxBuilder builder = conv();
  builder.input("row", {1, 6, 1, 6}).node("Add", {"y", "row"}, "z").output("z");
  CHECK(only_workload(builder) == "conv2d f32 nchw 1x4x8x8 o6 k3x3 s1x1 p0,0,0,0 d1x1 g1");
}

TEST_CASE("additions before operator set 7 broadcast along the axis they state") {
  for (const bool stated : {true, false}) {
    OnnxBuilder builder = conv(6);
    builder.constant("b", {6}).node("Add", {"y", "b"}, "z").output("z");
    if (stated) {
      builder.attribute("broadcast", int64_t{1}).attribute("axis", int64_t{1});
    }
    const bool fused = only_workload(builder).find(" bias") != std::string::npos;
    CHECK(fused == stated);
  }
}

TEST_CASE("clip bounds come from attributes before operator set 11 and from constant inputs after") {
  const std::string expected = "conv2d f32 nchw 1x4x8x8 o6 k3x3 s1x1 p0,0,0,0 d1x1 g1 clip(0,6)";
  OnnxBuilder attributes = conv(6);
  attributes.node("Clip", {"y"}, "z").attribute("min", 0.0f).attribute("max", 6.0f).output("z");
  CHECK(only_workload(attributes) == expected);
  OnnxBuilder inputs = conv(11);
  inputs.constant("low", {}, {0.0f}).constant("high", {}, {6.0f}).node("Clip", {"y", "low", "high"}, "z").output("z");
  CHECK(only_workload(inputs) == expected);
  OnnxBuilder half = conv(11);
  half.constant("low", {}, {0.0f}).node("Clip", {"y", "low"}, "z").output("z");
  CHECK(only_workload(half) == "conv2d f32 nchw 1x4x8x8 o6 k3x3 s1x1 p0,0,0,0 d1x1 g1 relu");
  OnnxBuilder unknown = conv(11);
  unknown.input("low", {}).node("Clip", {"y", "low"}, "z").output("z");
  CHECK(only_workload(unknown) == "conv2d f32 nchw 1x4x8x8 o6 k3x3 s1x1 p0,0,0,0 d1x1 g1");
}

TEST_CASE("a constant batch normalisation is folded into filter and bias") {
  OnnxBuilder builder;
  builder.input("x", {1, 1, 2, 2}).constant("w", {2, 1, 1, 1}, {3.0f, 5.0f}).constant("b", {2}, {1.0f, 2.0f});
  builder.constant("gamma", {2}, {2.0f, 4.0f}).constant("beta", {2}, {10.0f, 20.0f});
  builder.constant("mean", {2}, {1.0f, -2.0f}).constant("variance", {2}, {4.0f, 16.0f});
  builder.node("Conv", {"x", "w", "b"}, "y");
  builder.node("BatchNormalization", {"y", "gamma", "beta", "mean", "variance"}, "z")
      .attribute("epsilon", 0.0f)
      .output("z");
  const ImportedGraph graph = imported(builder);
  REQUIRE(graph.steps.size() == 1);
  CHECK(graph.uncovered.empty());
  CHECK(graph.constants.at(graph.steps[0].b.tensor).values ==
        std::vector<float>{3.0f, 5.0f});  // 2 / sqrt(4), 4 / sqrt(16): 1
  CHECK(graph.constants.at(graph.steps[0].bias.tensor).values == std::vector<float>{10.0f, 24.0f});
}

TEST_CASE("matmuls take batches, vectors, transposed and constant operands") {
  struct Product {
    std::vector<int64_t> a, b;
    const char* text;
  };
  for (const Product& p : {
           Product{{3, 4}, {4, 5}, "matmul f32 1x3x4x5"},
           Product{{2, 3, 4}, {2, 4, 5}, "matmul f32 2x3x4x5"},
           Product{{2, 7, 3, 4}, {2, 7, 4, 5}, "matmul f32 14x3x4x5"},
           Product{{2, 3, 4}, {4, 5}, "matmul f32 1x6x4x5"},  // rows of A are contiguous over the batch
           Product{{3, 4}, {2, 4, 5}, "matmul f32 2x3x4x5 ashared"},
           Product{{1, 3, 4}, {2, 4, 5}, "matmul f32 2x3x4x5 ashared"},
           Product{{4}, {4, 5}, "matmul f32 1x1x4x5"},
           Product{{3, 4}, {4}, "matmul f32 1x3x4x1"},
           Product{{2, 1, 3, 4}, {1, 7, 4, 5}, "0 workloads: its batch dimensions broadcast against each other"},
       }) {
    OnnxBuilder builder;
    builder.input("a", p.a).input("b", p.b).node("MatMul", {"a", "b"}, "y").output("y");
    CHECK(only_workload(builder) == p.text);
  }
}

TEST_CASE("a transposition of the last two dimensions becomes part of the matmul") {
  OnnxBuilder builder;
  builder.input("a", {2, 3, 4}).input("b", {2, 5, 4}).node("Transpose", {"b"}, "t");
  builder.attribute("perm", std::vector<int64_t>{0, 2, 1}).node("MatMul", {"a", "t"}, "y").output("y");
  CHECK(only_workload(builder) == "matmul f32 2x3x4x5 tb");
  CHECK(imported(builder).uncovered.empty());
}

TEST_CASE("constants behind Identity and Constant nodes count as constant") {
  OnnxBuilder builder;
  builder.input("a", {3, 4})
      .constant("c", {4, 5})
      .node("Identity", {"c"}, "b")
      .node("MatMul", {"a", "b"}, "y")
      .output("y");
  CHECK(only_workload(builder) == "matmul f32 1x3x4x5 bconst");
  OnnxBuilder node;
  node.input("a", {3, 4}).constant("c", {4, 5}).node("Constant", {}, "b");
  onnx::AttributeProto* value = node.model().mutable_graph()->mutable_node(0)->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto_AttributeType_TENSOR);
  *value->mutable_t() = node.model().graph().initializer(0);
  node.model().mutable_graph()->clear_initializer();
  node.node("MatMul", {"a", "b"}, "y").output("y");
  CHECK(only_workload(node) == "matmul f32 1x3x4x5 bconst");
}

TEST_CASE("the addition of a Gemm is a bias along N, else an addend") {
  struct Addition {
    std::vector<int64_t> c;
    const char* text;
  };
  for (const Addition& a : {Addition{{5}, "matmul f32 1x3x4x5 bias"}, Addition{{1, 5}, "matmul f32 1x3x4x5 bias"},
                            Addition{{1}, "matmul f32 1x3x4x5 bias"}, Addition{{3, 5}, "matmul f32 1x3x4x5 addend"},
                            Addition{{3, 1}, "matmul f32 1x3x4x5 addend"}}) {
    OnnxBuilder builder;
    builder.input("a", {3, 4}).input("b", {4, 5}).input("c", a.c).node("Gemm", {"a", "b", "c"}, "y").output("y");
    CHECK(only_workload(builder) == a.text);
  }
}

TEST_CASE("alpha and beta are folded into constants, and told where they cannot be") {
  OnnxBuilder builder;
  builder.input("a", {1, 2})
      .constant("b", {2, 1}, {3.0f, 4.0f})
      .constant("c", {1}, {5.0f})
      .node("Gemm", {"a", "b", "c"}, "y");
  builder.attribute("alpha", 0.5f).attribute("beta", 2.0f).output("y");
  const ImportedGraph graph = imported(builder);
  REQUIRE(graph.steps.size() == 1);
  CHECK(graph.network.skipped.empty());
  CHECK(graph.constants.at(graph.steps[0].b.tensor).values == std::vector<float>{1.5f, 2.0f});
  CHECK(graph.constants.at(graph.steps[0].bias.tensor).values == std::vector<float>{10.0f});
  OnnxBuilder open;
  open.input("a", {1, 2}).input("b", {2, 1}).node("Gemm", {"a", "b"}, "y").attribute("alpha", 0.5f).output("y");
  const ImportedGraph scaled = imported(open);
  CHECK(scaled.steps[0].b.scale == 0.5f);
  REQUIRE(scaled.network.skipped.size() == 1);
  CHECK(scaled.network.skipped[0].flops == 2);
}

TEST_CASE("equal workloads are counted, others listed in order") {
  OnnxBuilder builder;
  builder.input("x", {3, 4}).constant("v", {4, 4}).constant("w", {4, 4}).constant("u", {4, 2});
  builder.node("MatMul", {"x", "v"}, "y").node("MatMul", {"y", "w"}, "z").node("MatMul", {"z", "u"}, "o").output("o");
  const ImportedGraph graph = imported(builder);
  REQUIRE(graph.network.workloads.size() == 2);
  CHECK(graph.network.workloads[0].count == 2);
  CHECK(graph.network.workloads[0].name == "MatMul_of_y");
  CHECK(graph.network.workloads[1].count == 1);
  CHECK(graph.steps.size() == 3);
}

TEST_CASE("skipped operators are summed with their arithmetic and the reason") {
  OnnxBuilder builder = conv();
  builder.constant("t", {6, 2, 2, 2}).node("ConvTranspose", {"y", "t"}, "z").node("Sigmoid", {"z"}, "s").output("s");
  const ImportedGraph graph = imported(builder);
  REQUIRE(graph.network.skipped.size() == 2);
  CHECK(graph.network.skipped[0].operator_name == "ConvTranspose");
  CHECK(graph.network.skipped[0].flops == 2u * (6 * 6 * 6) * (2 * 2 * 2));
  CHECK(graph.network.skipped[1].flops == 8u * (2 * 7 * 7));
}

TEST_CASE("an operator of another type or too large to tune is skipped with its arithmetic") {
  for (const int type : {int{onnx::TensorProto_DataType_DOUBLE}, int{onnx::TensorProto_DataType_FLOAT}}) {
    const bool foreign = type != onnx::TensorProto_DataType_FLOAT;
    OnnxBuilder builder;
    const int64_t rows = foreign ? 7 : int64_t{1} << 29;
    builder.input("x", {rows, 4}).input("w", {4, 5}).node("MatMul", {"x", "w"}, "y").output("y");
    builder.input("v", {6, 5}).node("Gemm", {"y", "v"}, "z").attribute("transB", int64_t{1}).output("z");
    onnx::GraphProto* graph = builder.model().mutable_graph();
    for (auto* values : {graph->mutable_input(), graph->mutable_output()}) {
      for (onnx::ValueInfoProto& value : *values) {
        value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
      }
    }
    const Result<Network> network = import_onnx(builder.write("onnx_import_test"), {});
    REQUIRE_MESSAGE(network.ok(), (network.ok() ? "" : network.error().message));
    CHECK(network->workloads.empty());
    REQUIRE(network->skipped.size() == 2);
    CHECK(network->skipped[0].flops == 2u * static_cast<uint64_t>(rows) * 4 * 5);
    CHECK(network->skipped[1].flops == 2u * static_cast<uint64_t>(rows) * 5 * 6);
    CHECK((network->skipped[0].reason.find("DOUBLE") != std::string::npos) == foreign);
  }
}

TEST_CASE("the batch is 1 unless given; other dynamic sizes must be given") {
  OnnxBuilder batch;
  batch.dynamic_input("x", {"N", "4"}).constant("w", {4, 5}).node("MatMul", {"x", "w"}, "y").output("y");
  CHECK(only_workload(batch) == "matmul f32 1x1x4x5 bconst");
  ImportOptions eight;
  eight.dimensions["N"] = 8;
  CHECK(only_workload(batch, eight) == "matmul f32 1x8x4x5 bconst");
  ImportOptions shape;
  shape.input_shapes["x"] = {3, 4};
  CHECK(only_workload(batch, shape) == "matmul f32 1x3x4x5 bconst");
  OnnxBuilder image;
  image.dynamic_input("x", {"N", "3", "H", "W"}).constant("w", {2, 3, 1, 1}).node("Conv", {"x", "w"}, "y").output("y");
  CHECK(only_workload(image).find("dimension 2 ('H') is dynamic") != std::string::npos);
  ImportOptions size;
  size.dimensions = {{"H", 5}, {"W", 6}};
  CHECK(only_workload(image, size) == "conv2d f32 nchw 1x3x5x6 o2 k1x1 s1x1 p0,0,0,0 d1x1 g1");
}

}  // namespace
}  // namespace temper
