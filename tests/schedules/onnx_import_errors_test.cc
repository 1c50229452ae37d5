// Files that are no sound ONNX models: each a message that names file and node, never a crash.
#include <doctest/doctest.h>

#include "schedules/import/onnx_import.h"
#include "tests/schedules/onnx_builder.h"

namespace temper {
namespace {

Error failure_of(const std::string& path, const ImportOptions& options = {}) {
  const Result<Network> network = import_onnx(path, options);
  return network ? Error{TEMPER_OK, "imported"} : network.error();
}

bool mentions(const Error& error, const std::string& part) { return error.message.find(part) != std::string::npos; }

OnnxBuilder small_model(int64_t opset = 13) {
  OnnxBuilder builder(opset);
  builder.input("x", {1, 4, 8, 8}).constant("w", {6, 4, 3, 3}).node("Conv", {"x", "w"}, "y").output("y");
  return builder;
}

TEST_CASE("a file that is absent, empty or foreign is refused by name") {
  CHECK(failure_of("absent.onnx").code == TEMPER_NOT_FOUND);
  for (const std::string& bytes :
       {std::string(), std::string("hello, this is text"), std::string(64, '\xff'), std::string(64, '\0')}) {
    const std::string path = write_bytes("onnx_import_errors_test", bytes);
    const Error error = failure_of(path);
    CHECK(error.code == TEMPER_BAD_DATA);
    CHECK(mentions(error, path));
  }
}

TEST_CASE("every truncation is refused, none crashes") {
  const std::string bytes = small_model().bytes();
  for (size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    CHECK(failure_of(write_bytes("onnx_import_errors_test", bytes.substr(0, length))).code == TEMPER_BAD_DATA);
  }
}

TEST_CASE("flipped bytes give a network or a message, never a crash") {
  const std::string bytes = small_model().bytes();
  size_t refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const char mask : {'\x01', '\x80'}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ mask);
      const Error error = failure_of(write_bytes("onnx_import_errors_test", damaged));
      refused += error.code == TEMPER_OK ? 0 : 1;
      CHECK(!error.message.empty());
    }
  }
  CHECK(refused > 50);
}

TEST_CASE("an operator set that is not known is refused with the known ones") {
  for (const int64_t opset : {int64_t{0}, int64_t{-3}, int64_t{1000}}) {
    const Error error = failure_of(small_model(opset).write("onnx_import_errors_test"));
    CHECK(error.code == TEMPER_BAD_VERSION);
    CHECK(mentions(error, "operator set " + std::to_string(opset)));
  }
}

TEST_CASE("inputs without usable sizes are refused with what to do") {
  OnnxBuilder shapeless;
  shapeless.shapeless_input("x").constant("w", {6, 4, 3, 3}).node("Conv", {"x", "w"}, "y").output("y");
  const Error no_shape = failure_of(shapeless.write("onnx_import_errors_test"));
  CHECK(no_shape.code == TEMPER_BAD_DATA);
  CHECK(mentions(no_shape, "input 'x' has no shape; give its shape (--shape x="));
  for (const int64_t size : {int64_t{0}, int64_t{-1}}) {
    OnnxBuilder builder;
    builder.input("x", {1, 4, size, 8}).constant("w", {6, 4, 3, 3}).node("Conv", {"x", "w"}, "y").output("y");
    const Error error = failure_of(builder.write("onnx_import_errors_test"));
    CHECK(error.code == TEMPER_BAD_DATA);
    CHECK(mentions(error, "size " + std::to_string(size) + " of dimension 2"));
    ImportOptions options;
    options.input_shapes["x"] = {1, 4, 8, 8};
    CHECK(failure_of(builder.write("onnx_import_errors_test"), options).code == TEMPER_OK);
  }
}

TEST_CASE("options that fit no input are wrong use") {
  const std::string path = small_model().write("onnx_import_errors_test");
  ImportOptions name, rank, size, dimension;
  name.input_shapes["image"] = {1, 4, 8, 8};
  rank.input_shapes["x"] = {1, 4, 8};
  size.input_shapes["x"] = {1, 4, 0, 8};
  dimension.dimensions["N"] = 2;
  for (const ImportOptions& options : {name, rank, size, dimension}) {
    CHECK(failure_of(path, options).code == TEMPER_INVALID_ARGUMENT);
  }
  CHECK(mentions(failure_of(path, name), "its inputs: x"));
}

TEST_CASE("nodes that break the rules of their operator are named") {
  struct Broken {
    const char* attribute;
    std::vector<int64_t> values;
  };
  for (const Broken& broken :
       {Broken{"strides", {0, 1}}, Broken{"strides", {1}}, Broken{"pads", {-1, 0, 0, 0}}, Broken{"dilations", {-2, 1}},
        Broken{"kernel_shape", {5, 5}}, Broken{"dilations", {9, 9}}}) {
    OnnxBuilder builder = small_model();
    builder.attribute(broken.attribute, broken.values);
    const Error error = failure_of(builder.write("onnx_import_errors_test"));
    CAPTURE(error.message);
    CHECK(error.code == TEMPER_BAD_DATA);
    CHECK(mentions(error, "node 'Conv_of_y' (Conv)"));
  }
  OnnxBuilder channels;
  channels.input("x", {1, 5, 8, 8}).constant("w", {6, 4, 3, 3}).node("Conv", {"x", "w"}, "y").output("y");
  CHECK(mentions(failure_of(channels.write("onnx_import_errors_test")), "image has 5 channels"));
}

TEST_CASE(
    "a filter of more or fewer dimensions than its image is named, whatever ONNX's shape inference does with it") {
  for (const std::vector<int64_t>& image : {std::vector<int64_t>{1, 4, 8}, {1, 4, 8, 8, 8}}) {
    OnnxBuilder builder;
    builder.input("x", image).constant("w", {6, 4, 3, 3}).node("Conv", {"x", "w"}, "y").output("y");
    const Error error = failure_of(builder.write("onnx_import_errors_test"));
    CAPTURE(error.message);
    CHECK(error.code == TEMPER_BAD_DATA);
    CHECK(mentions(error, "node 'Conv_of_y' (Conv): image and filter must have the same number of dimensions"));
  }
  OnnxBuilder unknown;
  unknown.input("x", {1, 4, 8, 8}).input("v", {6, 4, 3, 3}).node("Relu", {"v"}, "w").node("Conv", {"x", "w"}, "y");
  CHECK(mentions(failure_of(unknown.output("y").write("onnx_import_errors_test")), "states no kernel_shape"));
  unknown.attribute("kernel_shape", std::vector<int64_t>{3, 3});
  CHECK(failure_of(unknown.write("onnx_import_errors_test")).code == TEMPER_OK);
}

TEST_CASE("nodes without what their operator's schema promises never reach ONNX's shape inference") {
  OnnxBuilder scan;
  scan.input("x", {1, 4, 8, 8}).node("Scan", {"x"}, "y").output("y");
  const Error no_body = failure_of(scan.write("onnx_import_errors_test"));
  CAPTURE(no_body.message);
  CHECK(no_body.code == TEMPER_BAD_DATA);
  CHECK(mentions(no_body, "node 'Scan_of_y' (Scan)"));
  OnnxBuilder split;
  split.input("x", {1, 4, 8, 8}).node("Split", {"x"}, "y").output("y");
  split.model().mutable_graph()->mutable_node(0)->clear_output();
  CHECK(failure_of(split.write("onnx_import_errors_test")).code == TEMPER_BAD_DATA);
  for (const int64_t opset : {6, 13}) {
    OnnxBuilder gemm(opset);
    gemm.input("a", {4}).input("b", {4, 3}).input("c", {3}).node("Gemm", {"a", "b", "c"}, "y").output("y");
    CHECK(mentions(failure_of(gemm.write("onnx_import_errors_test")), "its operands must be matrices"));
  }
}

TEST_CASE("sizes beyond 2^31 are skipped as what they are, not as empty") {
  OnnxBuilder builder;
  builder.input("a", {2, (int64_t{1} << 32) + 3}).input("b", {(int64_t{1} << 32) + 3, 4});
  const Result<Network> network =
      import_onnx(builder.node("MatMul", {"a", "b"}, "y").output("y").write("onnx_import_errors_test"), {});
  REQUIRE(network.ok());
  REQUIRE(network->skipped.size() == 1);
  CHECK(network->skipped[0].reason.find("2^31 or more elements") != std::string::npos);
}

TEST_CASE("a node that reads what nothing before it writes is refused") {
  OnnxBuilder builder = small_model();
  builder.node("Relu", {"later"}, "z").node("Relu", {"y"}, "later").output("z");
  const Error error = failure_of(builder.write("onnx_import_errors_test"));
  CHECK(error.code == TEMPER_BAD_DATA);
  CHECK(mentions(error, "reads 'later'"));
}

TEST_CASE("constants whose values are missing do not stop the list of workloads, only the graph with its constants") {
  OnnxBuilder builder = small_model();
  builder.model().mutable_graph()->mutable_initializer(0)->clear_float_data();
  const std::string path = builder.write("onnx_import_errors_test");
  CHECK(failure_of(path).code == TEMPER_OK);
  const Result<ImportedGraph> graph = import_onnx_graph(path, {});
  REQUIRE(!graph.ok());
  CHECK(mentions(graph.error(), "constant 'w' holds more or fewer values"));
}

}  // namespace
}  // namespace temper
