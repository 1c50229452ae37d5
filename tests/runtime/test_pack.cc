#include "tests/runtime/test_pack.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/flatbuffers_config.h"
#include "schedules/pack_checksum.h"

namespace temper::test {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<format::Program> write_program(FlatBufferBuilder* builder, const TestProgram& program) {
  std::vector<format::Instruction> code;
  for (const Instruction& at : program.code) {
    code.emplace_back(at.op, at.a, at.b, at.c);
  }
  return format::CreateProgram(*builder, builder->CreateVectorOfStructs(code), builder->CreateVector(program.outputs));
}

// An empty program is left out.
Offset<format::Program> write_optional(FlatBufferBuilder* builder, const TestProgram& program) {
  return program.code.empty() && program.outputs.empty() ? Offset<format::Program>() : write_program(builder, program);
}

Offset<format::Template> write_template(FlatBufferBuilder* builder, const TestTemplate& t) {
  std::vector<Offset<format::Knob>> knobs;
  for (const TestKnob& knob : t.knobs) {
    knobs.push_back(format::CreateKnob(*builder, knob.id, static_cast<format::KnobKind>(knob.kind),
                                       builder->CreateVector(knob.values), builder->CreateString(knob.name)));
  }
  const auto name = builder->CreateString(t.name);
  const auto knob_vector = builder->CreateVector(knobs);
  const auto constants = builder->CreateVector(t.constants);
  const auto constraint = write_program(builder, t.constraint);
  const auto defaults = write_optional(builder, t.defaults);
  const auto shape = write_program(builder, t.shape);
  const auto features = write_optional(builder, t.features);
  const auto prior = write_program(builder, t.prior);
  return format::CreateTemplate(*builder, t.id, t.version, name, t.dim_count, knob_vector, constants, constraint,
                                defaults, shape, features, prior);
}

Offset<format::Workload> write_workload(FlatBufferBuilder* builder, const TestWorkload& w) {
  const auto name = builder->CreateString(w.name);
  const auto dims = builder->CreateVector(w.dims);
  const auto elements = builder->CreateVector(w.elements);
  Offset<flatbuffers::Vector<uint16_t>> default_values;
  if (!w.default_values.empty()) {
    default_values = builder->CreateVector(w.default_values);
  }
  return format::CreateWorkload(*builder, w.key, static_cast<uint8_t>(w.template_index), name, dims, elements,
                                w.constants, w.count, w.digest, w.flops, default_values);
}

}  // namespace

ProgramWriter::Value ProgramWriter::constant(int32_t value) {
  auto& constants = owner_->constants;
  auto at = std::find(constants.begin(), constants.end(), value);
  if (at == constants.end()) {
    at = constants.insert(at, value);
  }
  return emit(Op::kConst, static_cast<uint8_t>(at - constants.begin()), 0, 0);
}

ProgramWriter::Value ProgramWriter::emit(Op op, uint8_t a, uint8_t b, uint8_t c) {
  program_->code.push_back({static_cast<uint8_t>(op), a, b, c});
  return static_cast<Value>(program_->code.size() - 1);
}

void fill_programs(TestTemplate* t) {
  if (t->constraint.outputs.empty()) {
    ProgramWriter w(t, &t->constraint);
    w.output(w.constant(1));
  }
  if (t->defaults.outputs.empty()) {
    ProgramWriter w(t, &t->defaults);
    for (const TestKnob& knob : t->knobs) {
      w.output(w.constant(knob.values.empty() ? 0 : knob.values.front()));
    }
  }
  if (t->shape.outputs.empty()) {
    ProgramWriter w(t, &t->shape);
    w.output(w.constant(1));
    w.output(w.constant(0));
    w.output(w.constant(TEMPER_TENSOR_COUNT));
    const ProgramWriter::Value zero = w.constant(0);
    for (uint32_t i = 3; i < kShapeOutputs; ++i) {
      w.output(zero);
    }
  }
  if (t->prior.outputs.empty()) {
    ProgramWriter w(t, &t->prior);
    w.output(w.constant(0));
  }
}

TestTemplate plain_template(const std::vector<std::vector<uint16_t>>& knob_values) {
  TestTemplate t;
  for (const auto& values : knob_values) {
    const size_t index = t.knobs.size();
    t.knobs.push_back({static_cast<uint16_t>(10 + index), KnobKind::kRun, values, "knob" + std::to_string(index)});
  }
  fill_programs(&t);
  return t;
}

TestPack plain_pack(const std::vector<std::vector<uint16_t>>& knob_values) {
  TestPack pack;
  pack.templates.push_back(plain_template(knob_values));
  pack.workloads.emplace_back();
  for (const auto& values : knob_values) {
    pack.workloads[0].default_values.push_back(values.empty() ? uint16_t{0} : values.front());
  }
  return pack;
}

std::vector<uint8_t> build(const TestPack& pack) {
  constexpr uint32_t kToBeFilledIn = 1;  // the checksum
  FlatBufferBuilder builder;
  std::vector<Offset<format::Template>> templates;
  for (const TestTemplate& t : pack.templates) {
    templates.push_back(write_template(&builder, t));
  }
  std::vector<Offset<format::Workload>> workloads;
  for (const TestWorkload& w : pack.workloads) {
    workloads.push_back(write_workload(&builder, w));
  }
  std::vector<Offset<format::Variant>> variants;
  for (const TestVariant& v : pack.variants) {
    variants.push_back(format::CreateVariant(builder, v.template_index, builder.CreateVector(v.values), v.kernel));
  }
  const auto target = builder.CreateString(pack.target);
  const auto template_vector = builder.CreateVector(templates);
  const auto workload_vector = builder.CreateVector(workloads);
  const auto variant_vector = builder.CreateVector(variants);
  Offset<flatbuffers::Vector<int32_t>> facts;
  if (!pack.facts.empty()) {
    facts = builder.CreateVector(pack.facts);
  }
  std::vector<format::DimRoles> roles;
  for (const TestTemplate& t : pack.templates) {
    roles.emplace_back(t.extents, t.parameters, t.id, t.version, 0);
  }
  Offset<flatbuffers::Vector<const format::DimRoles*>> dim_roles;
  if (pack.dim_roles && !roles.empty()) {
    dim_roles = builder.CreateVectorOfStructs(roles);
  }
  builder.Finish(format::CreatePack(builder, pack.version, pack.feature_version, target, pack.pack_hash,
                                    template_vector, workload_vector, variant_vector, facts, kToBeFilledIn, dim_roles),
                 "TMPK");
  std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  (void)seal_pack(&bytes);  // it writes what it is told
  return bytes;
}

temper_pack as_pack(const std::vector<uint8_t>& bytes, const temper_kernel* kernels, uint32_t kernel_count) {
  return {bytes.data(), bytes.size(), kernels, kernel_count};
}

OpenPack::OpenPack(const TestPack& pack, const temper_kernel* kernels, uint32_t kernel_count)
    : bytes_(build(pack)), pack_(as_pack(bytes_, kernels, kernel_count)) {
  const char* reason = nullptr;
  const Status status = PackView::open(pack_, &view_, &reason);
  CAPTURE(std::string(reason == nullptr ? "" : reason));
  REQUIRE(status.ok());
  values_.resize(view_.scratch_values());
  intervals_.resize(view_.scratch_intervals());
}

temper_facts test_facts() {
  temper_facts facts{};
  facts.value[TEMPER_FACT_VECTOR_LANES] = 8;
  facts.value[TEMPER_FACT_VECTOR_REGISTERS] = 16;
  facts.value[TEMPER_FACT_L1D_BYTES] = 32 << 10;
  facts.value[TEMPER_FACT_L2_BYTES] = 1 << 20;
  facts.value[TEMPER_FACT_L3_BYTES] = 8 << 20;
  facts.value[TEMPER_FACT_CORES] = 2;
  facts.value[TEMPER_FACT_THREADS] = 2;
  facts.value[TEMPER_FACT_CLOCK_KHZ] = 3000000;
  facts.value[TEMPER_FACT_COPY_MB_S] = 10000;
  facts.value[TEMPER_FACT_FMA_LATENCY] = 4;
  facts.value[TEMPER_FACT_FMA_PER_CYCLE] = 2;
  return facts;
}

}  // namespace temper::test
