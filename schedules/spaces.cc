#include "schedules/spaces.h"

#include <algorithm>

#include "runtime/crc32.h"
#include "runtime/flatbuffers_config.h"
#include "runtime/space.h"
#include "schedules/fixed_dims.h"
#include "schedules/pack_checksum.h"
#include "schedules/pack_reduction.h"
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

/// Adds what the builder grew by since the last call to one part.
struct PartCounter {
  const FlatBufferBuilder& builder;
  uint32_t before = 0;
  void add_to(uint32_t* part) {
    *part += builder.GetSize() - before;
    before = builder.GetSize();
  }
};

Offset<flatbuffers::Vector<Offset<format::Knob>>> write_knobs(FlatBufferBuilder& builder, const TemplateData& data) {
  std::vector<Offset<format::Knob>> knobs;
  for (const KnobData& knob : data.knobs) {
    const auto id = static_cast<uint16_t>(knob.id >= 0 ? static_cast<size_t>(knob.id) : knobs.size());
    knobs.push_back(format::CreateKnob(builder, id, static_cast<format::KnobKind>(knob.kind),
                                       builder.CreateVector(knob.values), builder.CreateSharedString(knob.name)));
  }
  return builder.CreateVector(knobs);
}

Offset<format::Template> write_template(FlatBufferBuilder& builder, const TemplateData& data,
                                        const PackOptions& options, PartCounter& counter, PackParts* parts) {
  const auto program = [&](const ProgramData& of, uint32_t* part) {
    const Offset<format::Program> written = write_program(builder, of);
    counter.add_to(part);
    return written;
  };
  const auto name = builder.CreateString(data.name);
  const auto knob_list = write_knobs(builder, data);
  const auto constants = builder.CreateVector(data.constants.values());
  counter.add_to(&parts->knobs);
  const auto constraint = program(data.constraint, &parts->constraint);
  const bool nominal = options.machine == PackMachine::kNominal;
  const auto defaults = nominal ? Offset<format::Program>() : program(data.defaults, &parts->defaults);
  const auto shape = program(data.shape, &parts->shape);
  const bool no_features = options.features == PackFeatures::kLeftOut;
  const auto features = no_features ? Offset<format::Program>() : program(data.features, &parts->features);
  const auto prior = program(data.prior, &parts->prior);
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
  std::vector<uint16_t> default_values;  ///< empty: not stored
};

Offset<format::Workload> write_workload(FlatBufferBuilder& builder, const PreparedWorkload& prepared) {
  const Workload& workload = prepared.source->workload;
  const auto name = builder.CreateString(prepared.source->name);
  const auto dims = builder.CreateVector(dims_of(workload));
  const auto sizes = tensor_elements(workload);
  const auto elements = builder.CreateVector(sizes.data(), sizes.size());
  const uint16_t count = static_cast<uint16_t>(std::min<uint32_t>(prepared.source->count, UINT16_MAX));
  const auto defaults = prepared.default_values.empty() ? Offset<flatbuffers::Vector<uint16_t>>()
                                                        : builder.CreateVector(prepared.default_values);
  return format::CreateWorkload(builder, workload_key(workload), prepared.template_index, name, dims, elements,
                                constant_tensors(workload), count, prepared.digest, flops(workload), defaults);
}

/// What goes into a pack.
struct Contents {
  std::vector<TemplateData> templates;
  std::vector<PreparedWorkload> workloads;
  std::vector<uint8_t> variant_templates;
  bool dim_roles = false;  ///< tells what its dims mean: not part of the hash
  uint32_t pack_hash = 0;
};

std::vector<Offset<format::Variant>> write_variants(FlatBufferBuilder& builder, const Contents& contents,
                                                    const PackOptions& options) {
  std::vector<Offset<format::Variant>> written;
  for (size_t i = 0; i < options.variants.size(); ++i) {
    const PackVariant& variant = options.variants[i];
    written.push_back(format::CreateVariant(builder, contents.variant_templates[i],
                                            builder.CreateVector(variant.values), variant.kernel));
  }
  return written;
}

Offset<flatbuffers::Vector<const format::DimRoles*>> write_dim_roles(FlatBufferBuilder& builder,
                                                                     const Contents& contents) {
  std::vector<format::DimRoles> roles;
  for (const TemplateData& data : contents.templates) {
    const DimRoleBits bits = dim_roles(data.id);
    roles.emplace_back(bits.extents, bits.parameters, static_cast<uint16_t>(data.id), data.version, 0);
  }
  return contents.dim_roles ? builder.CreateVectorOfStructs(roles)
                            : Offset<flatbuffers::Vector<const format::DimRoles*>>();
}

/// All but the checksum.
std::vector<uint8_t> write_bytes(const Contents& contents, const PackOptions& options, PackParts* parts) {
  constexpr uint32_t kToBeFilledIn = 1;
  FlatBufferBuilder builder(1 << 14);
  PartCounter counter{builder};
  std::vector<Offset<format::Template>> template_list;
  for (const TemplateData& data : contents.templates) {
    template_list.push_back(write_template(builder, data, options, counter, parts));
    counter.add_to(&parts->rest);
  }
  std::vector<Offset<format::Workload>> workload_list;
  for (const PreparedWorkload& workload : contents.workloads) {
    workload_list.push_back(write_workload(builder, workload));
  }
  const auto all_workloads = builder.CreateVector(workload_list);
  counter.add_to(&parts->workloads);
  const auto all_variants = builder.CreateVector(write_variants(builder, contents, options));
  counter.add_to(&parts->variants);
  const auto target = builder.CreateString(options.target);
  const auto all_templates = builder.CreateVector(template_list);
  const auto facts = options.facts ? builder.CreateVector(options.facts->value, TEMPER_FACT_COUNT)
                                   : Offset<flatbuffers::Vector<int32_t>>();
  const auto roles = write_dim_roles(builder, contents);
  format::FinishPackBuffer(
      builder, format::CreatePack(builder, kPackVersion, kFeatureVersion, target, contents.pack_hash, all_templates,
                                  all_workloads, all_variants, facts, kToBeFilledIn, roles));
  counter.add_to(&parts->rest);
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

/// A pack's bytes, aligned and opened.
struct OpenPack {
  std::vector<uint64_t> words;
  PackView view;
};

/// Seals what write_bytes wrote, and opens a copy.
Result<bool> open_pack(std::vector<uint8_t>* written, OpenPack* out) {
  if (!seal_pack(written)) {
    return Error{TEMPER_BAD_DATA, "pack does not verify: structure"};
  }
  const std::vector<uint8_t>& bytes = *written;
  out->words.resize(bytes.size() / 8 + 1);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(out->words.data()));
  const char* reason = nullptr;
  const Status status = PackView::open({out->words.data(), bytes.size(), nullptr, 0}, &out->view, &reason);
  if (!status.ok()) {
    return Error{status.code(),
                 std::string("pack does not verify: ") + (reason != nullptr ? reason : "unknown reason")};
  }
  return true;
}

/// The default of each workload over the variants, on the facts; by the whole templates, which have a program for it.
Result<bool> set_default_values(const PackOptions& options, Contents* contents) {
  PackOptions probed = options;
  probed.machine = PackMachine::kProbed;
  PackParts ignored;
  OpenPack pack;
  std::vector<uint8_t> bytes = write_bytes(*contents, probed, &ignored);
  if (Result<bool> opened = open_pack(&bytes, &pack); !opened) {
    return opened;
  }
  std::vector<int32_t> values(pack.view.scratch_values());
  std::vector<Interval> intervals(pack.view.scratch_intervals());
  for (uint32_t i = 0; i < contents->workloads.size(); ++i) {
    const Space space(&pack.view, i, &*options.facts, {values.data(), intervals.data()});
    Config config;
    if (!space.default_config(&config).ok()) {
      return Error{TEMPER_NOT_FOUND, "no variant of the pack serves workload " + contents->workloads[i].source->name};
    }
    for (uint32_t knob = 0; knob < space.knob_count(); ++knob) {
      const int32_t value = space.value(knob, config.choice[knob]);
      contents->workloads[i].default_values.push_back(static_cast<uint16_t>(value));
    }
  }
  return true;
}

/// What can be said of the device's facts before it tells them. Caches that the core has may differ in size from chip
/// to chip, as may clock and copy rate; a core without caches has none anywhere.
std::vector<Interval> known_facts(const PackOptions& options) {
  std::vector<Interval> known(TEMPER_FACT_COUNT, {0, INT32_MAX});
  for (uint32_t fact = 0; options.machine == PackMachine::kNominal && fact < TEMPER_FACT_COUNT; ++fact) {
    const int32_t value = options.facts->value[fact];
    const bool chip =
        fact == TEMPER_FACT_CLOCK_KHZ || fact == TEMPER_FACT_COPY_MB_S ||
        (value != 0 && (fact == TEMPER_FACT_L1D_BYTES || fact == TEMPER_FACT_L2_BYTES || fact == TEMPER_FACT_L3_BYTES));
    known[fact] = chip ? known[fact] : Interval{value, value};
  }
  return known;
}

Result<bool> reduce_templates(const PackOptions& options, Contents* contents) {
  for (uint8_t index = 0; index < contents->templates.size(); ++index) {
    PackUse use{{}, {}, known_facts(options)};
    for (const PreparedWorkload& workload : contents->workloads) {
      if (workload.template_index == index) {
        use.dims.push_back(dims_of(workload.source->workload));
      }
    }
    for (size_t i = 0; i < options.variants.size(); ++i) {
      if (contents->variant_templates[i] == index) {
        use.variants.push_back(options.variants[i].values);
      }
    }
    if (use.dims.empty() || use.variants.empty()) {
      continue;
    }
    TemplateData& data = contents->templates[index];
    data.defaults = options.machine == PackMachine::kNominal ? ProgramData() : data.defaults;
    data.features = options.features == PackFeatures::kLeftOut ? ProgramData() : data.features;
    Result<TemplateData> smaller = reduced(data, use);
    if (!smaller) {
      return smaller.error();
    }
    data = std::move(*smaller);
  }
  return true;
}

Result<std::vector<PreparedWorkload>> prepared_workloads(const std::vector<NetworkWorkload>& workloads,
                                                         const std::vector<TemplateData>& templates,
                                                         const PackOptions& options) {
  std::vector<PreparedWorkload> prepared;
  for (const NetworkWorkload& entry : workloads) {
    const Result<Workload> valid = validated(entry.workload);
    if (!valid.ok() || !(*valid == entry.workload)) {
      return valid.ok() ? Error{TEMPER_BAD_DATA, "workload " + entry.name + " was not passed through validated()"}
                        : Error{TEMPER_BAD_DATA, entry.name + ": " + valid.error().message};
    }
    const bool exact = reduction_length(entry.workload) < kExactReduction;
    prepared.push_back({&entry,
                        index_of(templates, template_of(entry.workload)),
                        options.digests && exact ? reference_digest(entry.workload) : 0,
                        {}});
  }
  return prepared;
}

/// Templates, workloads and variants as every pack has them.
Result<Contents> whole_contents(const std::vector<NetworkWorkload>& workloads, const PackOptions& options) {
  Contents contents;
  Result<std::vector<TemplateData>> templates = used_templates(workloads, options);
  if (!templates.ok()) {
    return templates.error();
  }
  contents.templates = std::move(*templates);
  const int32_t memories = options.facts ? options.facts->value[TEMPER_FACT_MEMORIES] : 1;
  for (TemplateData& data : contents.templates) {
    Result<TemplateData> placed = memories > 1 ? with_memory_knob(data, static_cast<uint32_t>(memories)) : data;
    if (!placed) {
      return placed.error();
    }
    data = std::move(*placed);
  }
  for (const PackVariant& variant : options.variants) {
    contents.variant_templates.push_back(index_of(contents.templates, variant.template_id));
  }
  PackParts ignored;
  if (!options.variants.empty()) {  // a pack without variants lends no kernels that a result could depend on
    PackOptions kernels = options;
    kernels.machine = PackMachine::kProbed;
    kernels.features = PackFeatures::kKept;
    kernels.facts.reset();
    const std::vector<uint8_t> kernels_alone = write_bytes(contents, kernels, &ignored);
    const uint32_t hash = crc32(0, kernels_alone.data(), kernels_alone.size());
    contents.pack_hash = std::max(hash_fixed_dims(hash, options.variants), 1u);
  }
  contents.dim_roles = options.features == PackFeatures::kKept;  // devices without the learner do not borrow either
  if (Result<bool> fixed = check_fixed_dims(workloads, options.variants, contents.templates); !fixed) {
    return fixed.error();
  }
  Result<std::vector<PreparedWorkload>> prepared = prepared_workloads(workloads, contents.templates, options);
  if (!prepared) {
    return prepared.error();
  }
  contents.workloads = std::move(*prepared);
  return contents;
}

Result<bool> check_options(const PackOptions& options) {
  const bool special = options.templates != PackTemplates::kFull || options.machine != PackMachine::kProbed ||
                       options.features != PackFeatures::kKept;
  if (special && options.variants.empty()) {
    return Error{TEMPER_INVALID_ARGUMENT, "only a pack with variants can leave parts of its templates out"};
  }
  if (options.machine == PackMachine::kNominal && !options.facts) {
    return Error{TEMPER_INVALID_ARGUMENT, "a pack for nominal facts needs the facts"};
  }
  return true;
}

}  // namespace

Result<std::vector<uint8_t>> write_pack(const std::vector<NetworkWorkload>& workloads, const PackOptions& options,
                                        PackParts* parts) {
  if (Result<bool> sound = check_options(options); !sound) {
    return sound.error();
  }
  Result<Contents> contents = whole_contents(workloads, options);
  if (!contents) {
    return contents.error();
  }
  if (options.machine == PackMachine::kNominal) {
    if (Result<bool> set = set_default_values(options, &*contents); !set) {
      return set.error();
    }
  }
  if (options.templates == PackTemplates::kReduced) {
    if (Result<bool> smaller = reduce_templates(options, &*contents); !smaller) {
      return smaller.error();
    }
  }
  PackParts counted;
  std::vector<uint8_t> bytes = write_bytes(*contents, options, &counted);
  OpenPack opened;
  if (Result<bool> verified = open_pack(&bytes, &opened); !verified) {
    return verified.error();
  }
  if (parts != nullptr) {
    *parts = counted;
  }
  return bytes;
}

}  // namespace temper
