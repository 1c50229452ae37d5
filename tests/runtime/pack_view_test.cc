#include "runtime/pack_view.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "runtime/flatbuffers_config.h"
#include "schedules/pack_checksum.h"
#include "tests/runtime/test_pack.h"

namespace temper {
namespace {

using test::TestPack;

void kernel_a(float*, const float*, const float*, const float*, const float*, void*, const int32_t*, int32_t, int32_t) {
}

constexpr temper_kernel kKernels[] = {kernel_a, kernel_a};

// Two templates, three workloads, three variants; everything the schema can hold is there.
TestPack rich_pack() {
  TestPack pack;
  test::TestTemplate gemm;
  gemm.id = 1;
  gemm.name = "gemm";
  gemm.dim_count = 3;
  gemm.knobs = {{0, KnobKind::kCompile, {1, 2, 4, 6}, "tile_m"},
                {1, KnobKind::kCompile, {1, 2}, "vectors"},
                {7, KnobKind::kRun, {8, 16, 32, 64}, "block_m"}};
  test::ProgramWriter constraint(&gemm, &gemm.constraint);
  constraint.output(constraint.op(Op::kLessEqual, constraint.op(Op::kMul, constraint.knob(0), constraint.knob(1)),
                                  constraint.fact(TEMPER_FACT_VECTOR_REGISTERS)));
  test::ProgramWriter features(&gemm, &gemm.features);
  features.output(features.op(Op::kLog2, features.dim(2)));
  test::fill_programs(&gemm);
  pack.templates = {gemm, test::plain_template({{1, 2, 3}, {5, 9}})};
  pack.templates[1].id = 2;
  pack.workloads.resize(3);
  pack.workloads[0] = {0x1111, 0, "first", {16, 32, 64}, {512, 1024, 2048, 32, 0}, 1u << TEMPER_IN_B, 3, 0xABCD, 65536};
  pack.workloads[1] = {0x2222, 0, "second", {1, 2, 3}, {2, 3, 6, 0, 0}, 0, 1, 0, 12};
  pack.workloads[2] = {0x3333, 1, "third", {}, {1, 1, 1, 1, 1}, 0, 1, 0, 1};
  pack.variants = {{0, {1, 1}, 0}, {0, {6, 2}, 1}, {1, {}, 1}};
  return pack;
}

Status open_bytes(const std::vector<uint8_t>& bytes, std::string* reason) {
  PackView view;
  const char* text = nullptr;
  const Status status = PackView::open(test::as_pack(bytes, kKernels, 2), &view, &text);
  *reason = text == nullptr ? "" : text;
  return status;
}

// Touches everything an accessor can reach, so that a sanitizer sees a view that verified and should not have.
uint64_t read_everything(const PackView& view, bool with_kernels) {
  uint64_t sum = view.pack_hash() + view.feature_version() + std::strlen(view.target());
  std::vector<int32_t> values(view.scratch_values());
  std::vector<Interval> intervals(view.scratch_values());  // of every program, not of constraints alone
  for (uint32_t i = 0; i < view.template_count(); ++i) {
    const TemplateView t = view.get_template(i);
    sum += std::strlen(t.name) + t.constants.size;
    for (uint32_t k = 0; k < t.knob_count; ++k) {
      const Knob knob = t.knob(k);
      sum += knob.id + std::strlen(knob.name) + t.values(k).size;
      REQUIRE(knob.values.size <= view.longest_knob_list());
      for (const uint16_t value : knob.values) {
        sum += value;
      }
    }
  }
  const temper_facts facts = test::test_facts();
  for (uint32_t i = 0; i < view.workload_count(); ++i) {
    const WorkloadView w = view.workload(i);
    sum += w.key + w.digest + w.flops + w.count + std::strlen(w.name) + w.elements[TEMPER_OUT];
    const TemplateView t = view.get_template(w.template_index);
    const int32_t knob_values[TEMPER_MAX_KNOBS] = {};
    const Interval knobs[TEMPER_MAX_KNOBS] = {};
    for (const Program& program : t.programs) {
      const ProgramInputs inputs{t.constants, w.dims, {knob_values, t.knob_count}, facts.value};
      evaluate(program, inputs, values.data());
      evaluate_intervals(program, inputs, {knobs, t.knob_count}, intervals.data());
      for (const uint8_t output : program.outputs) {
        sum += static_cast<uint32_t>(values[output]) + static_cast<uint32_t>(intervals[output].low);
      }
    }
  }
  for (uint32_t i = 0; i < view.variant_count(); ++i) {
    const VariantView v = view.variant(i);
    sum += v.values.size + (with_kernels && view.kernel(v.kernel) != nullptr ? 1 : 0);
  }
  return sum;
}

std::vector<uint16_t> first_values(const TestPack& pack, uint32_t template_index) {
  std::vector<uint16_t> values;
  for (const test::TestKnob& knob : pack.templates[template_index].knobs) {
    values.push_back(knob.values.front());
  }
  return values;
}

}  // namespace

TEST_CASE("a pack may do without default and feature programs where its workloads have default values") {
  TestPack pack = rich_pack();
  for (test::TestTemplate& t : pack.templates) {
    t.defaults = {};
    t.features = {};
  }
  for (test::TestWorkload& workload : pack.workloads) {
    workload.default_values = first_values(pack, workload.template_index);
  }
  pack.facts = {8, 32};
  const std::vector<uint8_t> bytes = test::build(pack);
  PackView view;
  REQUIRE(PackView::verify(test::as_pack(bytes, kKernels, 2), &view) == PackFault::kNone);
  CHECK(view.get_template(0).defaults().outputs.empty());
  CHECK(view.get_template(0).features().code.empty());
  REQUIRE(view.workload(0).default_values.size == 3);
  CHECK(view.workload(0).default_values[2] == pack.templates[0].knobs[2].values.front());
  REQUIRE(view.facts().size == 2);
  CHECK(view.facts()[1] == 32);
  CHECK(read_everything(view, true) != 0);
}

TEST_CASE("an open pack gives back what was written") {
  const std::vector<uint8_t> bytes = test::build(rich_pack());
  PackView view;
  const char* reason = "unset";
  REQUIRE(PackView::open(test::as_pack(bytes, kKernels, 2), &view, &reason).ok());
  CHECK(reason == nullptr);
  CHECK(view.pack_hash() == 0x1234);
  CHECK(view.feature_version() == 1);
  CHECK(std::string(view.target()) == "test");
  REQUIRE(view.template_count() == 2);
  REQUIRE(view.workload_count() == 3);
  REQUIRE(view.variant_count() == 3);
  CHECK(view.longest_knob_list() == 4);
  CHECK(view.scratch_values() == 8);  // three knobs and the longest program
  const TemplateView t = view.get_template(0);
  CHECK(t.id == 1);
  CHECK(std::string(t.name) == "gemm");
  CHECK(t.dim_count == 3);
  CHECK(t.knob_count == 3);
  CHECK(t.compile_knob_count == 2);
  CHECK(t.knob(2).id == 7);
  CHECK(t.knob(2).kind == KnobKind::kRun);
  CHECK(std::string(t.knob(2).name) == "block_m");
  REQUIRE(t.knob(2).values.size == 4);
  CHECK(t.knob(2).values[3] == 64);
  CHECK(view.get_template(1).compile_knob_count == 0);
  const WorkloadView w = view.workload(0);
  CHECK(w.key == 0x1111);
  CHECK(std::string(w.name) == "first");
  REQUIRE(w.dims.size == 3);
  CHECK(w.dims[2] == 64);
  CHECK(w.elements[TEMPER_BIAS] == 32);
  CHECK(w.elements[TEMPER_ADDEND] == 0);
  CHECK(w.constants == 1u << TEMPER_IN_B);
  CHECK(w.count == 3);
  CHECK(w.digest == 0xABCD);
  CHECK(w.flops == 65536);
  const VariantView v = view.variant(1);
  CHECK(v.template_index == 0);
  REQUIRE(v.values.size == 2);
  CHECK(v.values[0] == 6);
  CHECK(v.kernel == 1);
  CHECK((view.kernel(1) == kernel_a));
  CHECK(read_everything(view, true) != 0);
}

TEST_CASE("a pack without kernels or variants opens and has no kernels") {
  TestPack pack = rich_pack();
  pack.variants.clear();
  const std::vector<uint8_t> bytes = test::build(pack);
  PackView view;
  REQUIRE(PackView::open(test::as_pack(bytes), &view, nullptr).ok());
  CHECK(view.variant_count() == 0);
  CHECK((view.kernel(0) == nullptr));
}

TEST_CASE("a pack of another version is told apart from damage") {
  TestPack pack = rich_pack();
  pack.version = kPackVersion + 1;
  std::string reason;
  CHECK(open_bytes(test::build(pack), &reason) == TEMPER_BAD_VERSION);
  CHECK(reason == "version");
}

TEST_CASE("every bound that FlatBuffers cannot know is checked, and the reason names it") {
  struct Fault {
    const char* reason;
    std::function<void(TestPack&)> make;
  };
  const Instruction bad_instruction{static_cast<uint8_t>(Op::kOpCount), 0, 0, 0};
  const std::vector<Fault> faults = {
      {"knob values", [](TestPack& p) { p.templates[0].knobs[2].values = {}; }},
      {"knob values",
       [](TestPack& p) {
         p.templates[0].knobs[2].values = {8, 8};
       }},
      {"knob values",
       [](TestPack& p) {
         p.templates[0].knobs[2].values = {16, 8};
       }},
      {"knob values",
       [](TestPack& p) {
         p.templates[0].knobs[2].values.clear();
         for (uint16_t i = 0; i < 65; ++i) {
           p.templates[0].knobs[2].values.push_back(i);
         }
       }},
      {"knob kind or order", [](TestPack& p) { p.templates[0].knobs[2].kind = static_cast<KnobKind>(2); }},
      {"knob kind or order", [](TestPack& p) { std::swap(p.templates[0].knobs[1], p.templates[0].knobs[2]); }},
      {"knob id twice", [](TestPack& p) { p.templates[0].knobs[2].id = 0; }},
      {"template id twice", [](TestPack& p) { p.templates[1].id = 1; }},
      {"knob count",
       [](TestPack& p) {
         p.templates[1] = test::plain_template(std::vector<std::vector<uint16_t>>(TEMPER_MAX_KNOBS + 1, {1}));
         p.templates[1].id = 2;
       }},
      {"dim count", [](TestPack& p) { p.templates[0].dim_count = TEMPER_MAX_DIMS + 1; }},
      {"program", [&](TestPack& p) { p.templates[0].constraint.code.push_back(bad_instruction); }},
      {"program", [&](TestPack& p) { p.templates[0].prior.code.push_back(bad_instruction); }},
      {"program", [](TestPack& p) { p.templates[0].features.outputs.push_back(200); }},
      {"program", [](TestPack& p) { p.templates[0].dim_count = 2; }},
      {"program outputs", [](TestPack& p) { p.templates[0].defaults.outputs.pop_back(); }},
      {"program outputs", [](TestPack& p) { p.templates[0].shape.outputs.pop_back(); }},
      {"program outputs", [](TestPack& p) { p.templates[0].prior.outputs.clear(); }},
      {"program outputs", [](TestPack& p) { p.templates[0].features.outputs.assign(kMaxFeatures + 1, 0); }},
      {"workload template", [](TestPack& p) { p.workloads[1].template_index = 2; }},
      {"workload dims", [](TestPack& p) { p.workloads[1].dims.pop_back(); }},
      {"workload tensors", [](TestPack& p) { p.workloads[1].elements[TEMPER_OUT] = 0; }},
      {"workload tensors", [](TestPack& p) { p.workloads[1].elements.clear(); }},
      {"workload tensors", [](TestPack& p) { p.workloads[1].elements.pop_back(); }},
      {"workload tensors", [](TestPack& p) { p.workloads[1].constants = 1u << TEMPER_TENSOR_COUNT; }},
      {"workload tensor size", [](TestPack& p) { p.workloads[1].elements[TEMPER_IN_A] = 1u << 29; }},
      {"workload default values", [](TestPack& p) { p.workloads[0].default_values = {1}; }},
      {"workload default values",
       [](TestPack& p) {
         p.workloads[0].default_values = first_values(p, 0);
         p.workloads[0].default_values.back() = 9999;
       }},
      {"workload default values", [](TestPack& p) { p.templates[0].defaults = {}; }},
      {"program outputs", [](TestPack& p) { p.templates[0].shape.outputs.assign(kShapeOutputs + 2, 0); }},
      {"variant template", [](TestPack& p) { p.variants[2].template_index = 2; }},
      {"variant value count", [](TestPack& p) { p.variants[2].values = {1}; }},
      {"variant value count", [](TestPack& p) { p.variants[1].values.pop_back(); }},
      {"variant value", [](TestPack& p) { p.variants[1].values[0] = 3; }},
      {"variant kernel", [](TestPack& p) { p.variants[1].kernel = 2; }},
  };
  for (const Fault& fault : faults) {
    TestPack pack = rich_pack();
    fault.make(pack);
    std::string reason;
    CHECK(open_bytes(test::build(pack), &reason) == TEMPER_BAD_DATA);
    CHECK(reason == fault.reason);
  }
}

TEST_CASE("a kernel table with a hole is refused") {
  const std::vector<uint8_t> bytes = test::build(rich_pack());
  const temper_kernel holes[] = {kernel_a, nullptr};
  PackView view;
  const char* reason = nullptr;
  CHECK(PackView::open(test::as_pack(bytes, holes, 2), &view, &reason) == TEMPER_BAD_DATA);
  CHECK(std::string(reason) == "variant kernel");
}

TEST_CASE("null, unaligned, empty and foreign data are refused") {
  const std::vector<uint8_t> bytes = test::build(rich_pack());
  std::string reason;
  PackView view;
  CHECK_FALSE(PackView::open({nullptr, 0, nullptr, 0}, &view, nullptr).ok());
  CHECK_FALSE(open_bytes({}, &reason).ok());
  CHECK_FALSE(open_bytes(std::vector<uint8_t>(64, 0), &reason).ok());
  CHECK_FALSE(open_bytes(std::vector<uint8_t>(64, 0xFF), &reason).ok());
  std::vector<uint8_t> foreign = bytes;
  foreign[4] = 'X';
  CHECK_FALSE(open_bytes(foreign, &reason).ok());
  CHECK(reason == "structure");
  std::vector<uint8_t> moved(bytes.size() + 8);
  std::memcpy(moved.data() + 4, bytes.data(), bytes.size());
  CHECK_FALSE(PackView::open({moved.data() + 4, bytes.size(), nullptr, 0}, &view, nullptr).ok());
}

// A copy that ends where the pack ends, so that a sanitizer sees the first byte read past it.
std::unique_ptr<uint8_t[]> exact_copy(const std::vector<uint8_t>& bytes) {
  auto copy = std::make_unique<uint8_t[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

TEST_CASE("a pack with any byte changed is refused, and says why") {
  const std::vector<uint8_t> bytes = test::build(rich_pack());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (uint32_t flip = 1; flip < 256; ++flip) {
      const auto copy = exact_copy(bytes);
      copy[at] ^= static_cast<uint8_t>(flip);
      PackView view;
      const char* reason = nullptr;
      CAPTURE(at);
      REQUIRE_FALSE(PackView::open({copy.get(), bytes.size(), nullptr, 0}, &view, &reason).ok());
      REQUIRE(reason != nullptr);
      REQUIRE(view.workload_count() == 0);
    }
  }
}

TEST_CASE("a pack without a checksum is refused by that") {
  std::vector<uint8_t> bytes = test::build(rich_pack());
  const uint32_t root = flatbuffers::ReadScalar<uint32_t>(bytes.data());
  const uint32_t vtable = root - flatbuffers::ReadScalar<uint32_t>(bytes.data() + root);
  bytes[vtable + format::Pack::VT_CRC] = 0;
  std::string reason;
  CHECK(open_bytes(bytes, &reason) == TEMPER_BAD_DATA);
  CHECK(reason == "checksum");
}

TEST_CASE("a pack with any byte changed under a new checksum either fails to open or reads inside its bytes") {
  const std::vector<uint8_t> bytes = test::build(rich_pack());
  uint32_t opened = 0, refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (uint32_t change = 0; change < 12; ++change) {
      const uint8_t masks[] = {1, 2, 4, 8, 16, 32, 64, 128, 255, 0x7F};
      std::vector<uint8_t> changed = bytes;
      uint8_t* byte = changed.data() + at;
      *byte = change < 10 ? static_cast<uint8_t>(*byte ^ masks[change]) : change == 10 ? uint8_t{0} : uint8_t{0xFF};
      (void)seal_pack(&changed);  // what breaks FlatBuffers' rules stays as it is
      const auto copy = exact_copy(changed);
      PackView view;
      if (PackView::open({copy.get(), bytes.size(), nullptr, 0}, &view, nullptr).ok()) {
        read_everything(view, false);
        ++opened;
      } else {
        ++refused;
      }
    }
  }
  CHECK(opened > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("a pack cut anywhere is refused or reads inside its bytes") {
  const std::vector<uint8_t> bytes = test::build(rich_pack());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto copy = std::make_unique<uint8_t[]>(length == 0 ? 1 : length);
    std::memcpy(copy.get(), bytes.data(), length);
    PackView view;
    if (PackView::open({copy.get(), length, nullptr, 0}, &view, nullptr).ok()) {
      read_everything(view, false);
    }
    const bool missing_more_than_padding = length + 8 < bytes.size();
    if (missing_more_than_padding) {
      REQUIRE_FALSE(PackView::open({copy.get(), length, nullptr, 0}, &view, nullptr).ok());
    }
  }
}

TEST_CASE("a pack that repeats references to keep the verifier busy is refused by its structure") {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<uint16_t> values = {1};
  const auto knob = format::CreateKnobDirect(builder, 1, format::KnobKind::Run, &values, "knob");
  const std::vector<flatbuffers::Offset<format::Knob>> knobs(5000, knob);
  const auto program = format::CreateProgram(builder, 0, 0);
  const auto one = format::CreateTemplateDirect(builder, 1, 1, "template", 0, &knobs, nullptr, program, program,
                                                program, program, program);
  const std::vector<flatbuffers::Offset<format::Template>> templates(200, one);
  const std::vector<flatbuffers::Offset<format::Workload>> workloads;
  builder.Finish(format::CreatePackDirect(builder, kPackVersion, 1, "t", 0, &templates, &workloads, nullptr), "TMPK");
  std::string reason;
  CHECK_FALSE(open_bytes({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()}, &reason).ok());
  CHECK(reason == "structure");
}

TEST_CASE("a pack has room for 255 templates and no more") {
  TestPack pack = rich_pack();
  std::string reason;
  for (uint16_t i = 2; i < 255; ++i) {
    pack.templates.push_back(pack.templates[1]);
    pack.templates.back().id = static_cast<uint16_t>(i + 1);
  }
  CHECK(open_bytes(test::build(pack), &reason).ok());
  pack.templates.push_back(pack.templates[1]);
  CHECK_FALSE(open_bytes(test::build(pack), &reason).ok());
  CHECK(reason == "template count");
}

}  // namespace temper
