#include "schedules/spaces.h"

#include <algorithm>

#include "runtime/crc32.h"
#include "runtime/flatbuffers_config.h"
#include "schedules/reference.h"
#include "schedules/template_data.h"

namespace temper {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr uint16_t kFeatureVersion = 1;
constexpr int64_t kExactReduction = 1 << 17;  ///< longest sum whose digest is exact, with room for bias and addend

Offset<format::Program> write_program(FlatBufferBuilder& builder, const ProgramData& program) {
  std::vector<format::Instruction> code;
  for (const Instruction& at : program.code) {
    code.emplace_back(at.op, at.a, at.b, at.c);
  }
  return format::CreateProgram(builder, builder.CreateVectorOfStructs(code), builder.CreateVector(program.outputs));
}

Offset<format::Template> write_template(FlatBufferBuilder& builder, const TemplateData& data) {
  std::vector<Offset<format::Knob>> knobs;
  for (const KnobData& knob : data.knobs) {
    knobs.push_back(format::CreateKnob(builder, static_cast<uint16_t>(knobs.size()),
                                       static_cast<format::KnobKind>(knob.kind), builder.CreateVector(knob.values),
                                       builder.CreateString(knob.name)));
  }
  const auto name = builder.CreateString(data.name);
  const auto knob_list = builder.CreateVector(knobs);
  const auto constants = builder.CreateVector(data.constants.values());
  const auto constraint = write_program(builder, data.constraint), defaults = write_program(builder, data.defaults);
  const auto shape = write_program(builder, data.shape), features = write_program(builder, data.features);
  const auto prior = write_program(builder, data.prior);
  return format::CreateTemplate(builder, static_cast<uint16_t>(data.id), data.version, name, data.dim_count, knob_list,
                                constants, constraint, defaults, shape, features, prior);
}

uint8_t constant_tensors(const Workload& workload) {
  const bool matmul = workload.op == Operator::kMatmul;
  const bool a = matmul && workload.matmul.a_constant;
  const bool b = matmul ? workload.matmul.b_constant : workload.conv.filter_constant;
  return static_cast<uint8_t>((a ? 1u << TEMPER_IN_A : 0u) | (b ? 1u << TEMPER_IN_B : 0u) |
                              (workload.epilogue.bias ? 1u << TEMPER_BIAS : 0u));
}

/// A network's workload with what the pack stores of it, computed once.
struct PreparedWorkload {
  const NetworkWorkload* source;
  uint8_t template_index;
  uint32_t digest;
};

Offset<format::Workload> write_workload(FlatBufferBuilder& builder, const PreparedWorkload& prepared) {
  const Workload& workload = prepared.source->workload;
  const auto name = builder.CreateString(prepared.source->name);
  const auto dims = builder.CreateVector(dims_of(workload));
  const auto sizes = tensor_elements(workload);
  const auto elements = builder.CreateVector(sizes.data(), sizes.size());
  const uint16_t count = static_cast<uint16_t>(std::min<uint32_t>(prepared.source->count, UINT16_MAX));
  return format::CreateWorkload(builder, workload_key(workload), prepared.template_index, name, dims, elements,
                                constant_tensors(workload), count, prepared.digest, flops(workload));
}

std::vector<uint8_t> write_bytes(const std::vector<TemplateData>& templates,
                                 const std::vector<PreparedWorkload>& workloads, const PackOptions& options,
                                 const std::vector<uint8_t>& variant_templates, uint32_t pack_hash) {
  FlatBufferBuilder builder(1 << 14);
  std::vector<Offset<format::Template>> template_list;
  for (const TemplateData& data : templates) {
    template_list.push_back(write_template(builder, data));
  }
  std::vector<Offset<format::Workload>> workload_list;
  for (const PreparedWorkload& workload : workloads) {
    workload_list.push_back(write_workload(builder, workload));
  }
  std::vector<Offset<format::Variant>> variant_list;
  for (size_t i = 0; i < options.variants.size(); ++i) {
    const PackVariant& variant = options.variants[i];
    variant_list.push_back(
        format::CreateVariant(builder, variant_templates[i], builder.CreateVector(variant.values), variant.kernel));
  }
  const auto target = builder.CreateString(options.target);
  const auto all_templates = builder.CreateVector(template_list);
  const auto all_workloads = builder.CreateVector(workload_list);
  const auto all_variants = builder.CreateVector(variant_list);
  format::FinishPackBuffer(builder, format::CreatePack(builder, kPackVersion, kFeatureVersion, target, pack_hash,
                                                       all_templates, all_workloads, all_variants));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

/// The templates that workloads or variants use, in order of id.
Result<std::vector<TemplateData>> used_templates(const std::vector<NetworkWorkload>& workloads,
                                                 const PackOptions& options) {
  struct Entry {
    TemplateId id;
    Result<TemplateData> (*build)();
  };
  constexpr Entry kTemplates[] = {{TemplateId::kGemm, gemm_template}, {TemplateId::kDepthwise, depthwise_template}};
  std::vector<TemplateData> used;
  for (const Entry& entry : kTemplates) {
    const auto of_workload = [&](const NetworkWorkload& w) { return template_of(w.workload) == entry.id; };
    const auto of_variant = [&](const PackVariant& v) { return v.template_id == entry.id; };
    if (std::none_of(workloads.begin(), workloads.end(), of_workload) &&
        std::none_of(options.variants.begin(), options.variants.end(), of_variant)) {
      continue;
    }
    Result<TemplateData> data = entry.build();
    if (!data.ok()) {
      return data.error();
    }
    used.push_back(std::move(*data));
  }
  return used;
}

uint8_t index_of(const std::vector<TemplateData>& templates, TemplateId id) {
  const auto found =
      std::find_if(templates.begin(), templates.end(), [&](const TemplateData& t) { return t.id == id; });
  return static_cast<uint8_t>(found - templates.begin());
}

Result<std::vector<uint8_t>> checked(std::vector<uint8_t> bytes) {
  std::vector<uint64_t> aligned(bytes.size() / 8 + 1);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(aligned.data()));
  PackView view;
  const char* reason = nullptr;
  const Status status = PackView::open({aligned.data(), bytes.size(), nullptr, 0}, &view, &reason);
  if (!status.ok()) {
    return Error{status.code(),
                 std::string("pack does not verify: ") + (reason != nullptr ? reason : "unknown reason")};
  }
  return bytes;
}

}  // namespace

Result<std::vector<uint8_t>> write_pack(const std::vector<NetworkWorkload>& workloads, const PackOptions& options) {
  const Result<std::vector<TemplateData>> templates = used_templates(workloads, options);
  if (!templates.ok()) {
    return templates.error();
  }
  std::vector<PreparedWorkload> prepared;
  for (const NetworkWorkload& entry : workloads) {
    const Result<Workload> valid = validated(entry.workload);
    if (!valid.ok() || !(*valid == entry.workload)) {
      return valid.ok() ? Error{TEMPER_BAD_DATA, "workload " + entry.name + " was not passed through validated()"}
                        : Error{TEMPER_BAD_DATA, entry.name + ": " + valid.error().message};
    }
    const bool exact = reduction_length(entry.workload) < kExactReduction;
    prepared.push_back({&entry, index_of(*templates, template_of(entry.workload)),
                        options.digests && exact ? reference_digest(entry.workload) : 0});
  }
  std::vector<uint8_t> variant_templates;
  for (const PackVariant& variant : options.variants) {
    variant_templates.push_back(index_of(*templates, variant.template_id));
  }
  uint32_t pack_hash = 0;  // a pack without variants lends no kernels that a result could depend on
  if (!options.variants.empty()) {
    const std::vector<uint8_t> kernels_alone = write_bytes(*templates, {}, options, variant_templates, 0);
    pack_hash = std::max(crc32(0, kernels_alone.data(), kernels_alone.size()), 1u);
  }
  return checked(write_bytes(*templates, prepared, options, variant_templates, pack_hash));
}

}  // namespace temper
