#include "runtime/pack_view.h"

#include <cstddef>
#include <cstring>

#include "runtime/crc32.h"
#include "runtime/flatbuffer_check.h"
#include "runtime/flatbuffers_config.h"

namespace temper {
namespace {

static_assert(sizeof(format::Instruction) == sizeof(Instruction) && alignof(Instruction) == 1,
              "programs are read in place");

// Restates format/pack.fbs, field by field.
enum TableIndex : uint8_t { kPackTable, kTemplateTable, kKnobTable, kProgramTable, kWorkloadTable, kVariantTable };
constexpr FieldRule kFields[] = {
    // Pack
    scalar_field(2), scalar_field(2), string_field(), scalar_field(4), tables_field(kTemplateTable),
    tables_field(kWorkloadTable), optional(tables_field(kVariantTable)), optional(vector_field(4, 4)), scalar_field(4),
    optional(vector_field(sizeof(format::DimRoles), alignof(format::DimRoles))),
    // Template
    scalar_field(2), scalar_field(2), string_field(), scalar_field(1), tables_field(kKnobTable),
    optional(vector_field(4, 4)), table_field(kProgramTable), optional(table_field(kProgramTable)),
    table_field(kProgramTable), optional(table_field(kProgramTable)), table_field(kProgramTable),
    // Knob
    scalar_field(2), scalar_field(1), vector_field(2, 2), string_field(),
    // Program
    optional(vector_field(sizeof(Instruction), 1)), optional(vector_field(1, 1)),
    // Workload
    scalar_field(8), scalar_field(1), string_field(), optional(vector_field(4, 4)), vector_field(4, 4), scalar_field(1),
    scalar_field(2), scalar_field(4), scalar_field(8), optional(vector_field(2, 2)),
    // Variant
    scalar_field(1), optional(vector_field(2, 2)), scalar_field(2)};
constexpr uint8_t kStarts[] = {0, 10, 21, 25, 27, 37, 40};
static_assert(sizeof kFields / sizeof *kFields == 40, "the last start is the field count");
constexpr FlatbufferRules kRules = {"TMPK", kFields, kStarts};

constexpr uint32_t kMaxElements = 1u << 29;  // a tensor of f32 stays below 2^31 bytes

// Where each field of kFields goes in its view.
#define TEMPER_TO(view, member) static_cast<uint8_t>(offsetof(view, member))
constexpr uint8_t kPlaces[] = {
    TEMPER_TO(PackView::Root, version), TEMPER_TO(PackView::Root, feature_version), TEMPER_TO(PackView::Root, target),
    TEMPER_TO(PackView::Root, pack_hash), TEMPER_TO(PackView::Root, templates), TEMPER_TO(PackView::Root, workloads),
    TEMPER_TO(PackView::Root, variants), TEMPER_TO(PackView::Root, facts), TEMPER_TO(PackView::Root, crc),
    TEMPER_TO(PackView::Root, dim_roles),
    // Template
    TEMPER_TO(TemplateView, id), TEMPER_TO(TemplateView, version), TEMPER_TO(TemplateView, name),
    TEMPER_TO(TemplateView, dim_count), TEMPER_TO(TemplateView, knobs), TEMPER_TO(TemplateView, constants),
    TEMPER_TO(TemplateView, programs[0]), TEMPER_TO(TemplateView, programs[1]), TEMPER_TO(TemplateView, programs[2]),
    TEMPER_TO(TemplateView, programs[3]), TEMPER_TO(TemplateView, programs[4]),
    // Knob
    TEMPER_TO(Knob, id), TEMPER_TO(Knob, kind), TEMPER_TO(Knob, values), TEMPER_TO(Knob, name),
    // Program
    TEMPER_TO(Program, code), TEMPER_TO(Program, outputs),
    // Workload
    TEMPER_TO(WorkloadView, key), TEMPER_TO(WorkloadView, template_index), TEMPER_TO(WorkloadView, name),
    TEMPER_TO(WorkloadView, dims), TEMPER_TO(WorkloadView, elements), TEMPER_TO(WorkloadView, constants),
    TEMPER_TO(WorkloadView, count), TEMPER_TO(WorkloadView, digest), TEMPER_TO(WorkloadView, flops),
    TEMPER_TO(WorkloadView, default_values),
    // Variant
    TEMPER_TO(VariantView, template_index), TEMPER_TO(VariantView, values), TEMPER_TO(VariantView, kernel)};
#undef TEMPER_TO
static_assert(sizeof kPlaces == sizeof kFields / sizeof *kFields, "one place per field");
static_assert(sizeof(TemplateView) <= UINT8_MAX && sizeof(WorkloadView) <= UINT8_MAX, "places fit");
static_assert(offsetof(WorkloadView, elements_listed) == offsetof(WorkloadView, elements) + sizeof(void*),
              "read as one span");

// Copies the fields that a table has into its view, which is all zeros before: numbers as they are, texts as pointers,
// lists as spans, programs whole. Generated accessors come one function a type; this comes once.
void read_table(const uint8_t* at, TableIndex which, void* view) {
  const auto* const table = reinterpret_cast<const flatbuffers::Table*>(at);
  flatbuffers::voffset_t entry = 4;
  for (uint32_t i = kStarts[which]; i < kStarts[which + 1]; ++i, entry += 2) {
    const uint8_t* from = table->GetAddressOf(entry);
    if (from == nullptr) {
      continue;
    }
    uint8_t* const to = static_cast<uint8_t*>(view) + kPlaces[i];
    const FieldRule& rule = kFields[i];
    if (rule.kind() == FieldKind::kInline) {
      std::memcpy(to, from, rule.bytes);
      continue;
    }
    from += flatbuffers::ReadScalar<uint32_t>(from);
    if (rule.kind() == FieldKind::kTable) {
      read_table(from, static_cast<TableIndex>(rule.detail()), to);
      continue;
    }
    const Span<const uint8_t> list{from + sizeof(uint32_t), flatbuffers::ReadScalar<uint32_t>(from)};
    std::memcpy(to, &list, rule.kind() == FieldKind::kString ? sizeof list.data : sizeof list);
  }
}

// Of a vector of tables, `index` below its size.
const uint8_t* table_of(Span<const uint32_t> offsets, uint32_t index) {
  const uint32_t* const at = offsets.data + index;
  return reinterpret_cast<const uint8_t*>(at) + *at;
}

bool contains(Span<const uint16_t> values, uint16_t wanted) {
  for (const uint16_t value : values) {
    if (value == wanted) {
      return true;
    }
  }
  return false;
}

// What FlatBuffers' own rules cannot know.
PackFault check_knobs(const TemplateView& view) {
  for (uint32_t i = 0; i < view.knob_count; ++i) {
    const Knob knob = view.knob(i);
    int32_t last = -1;
    for (const uint16_t value : knob.values) {
      if (value <= last) {
        return PackFault::kKnobValues;
      }
      last = value;
    }
    if (last < 0 || knob.values.size > kMaxKnobValues) {
      return PackFault::kKnobValues;
    }
    if (knob.kind != (i < view.compile_knob_count ? KnobKind::kCompile : KnobKind::kRun)) {
      return PackFault::kKnobKind;
    }
    for (uint32_t other = 0; other < i; ++other) {
      if (view.knob_id(other) == knob.id) {
        return PackFault::kKnobId;
      }
    }
  }
  return PackFault::kNone;
}

PackFault check_programs(const TemplateView& view) {
  // By TemplateView's order: how many outputs each must and may have.
  const uint8_t knobs = view.knob_count;
  const uint8_t defaults = view.defaults().outputs.empty() ? 0 : knobs;  // absent: each workload has values of its own
  const uint8_t least[] = {0, defaults, kShapeOutputs, 0, 1};
  const uint8_t most[] = {UINT8_MAX, defaults, kShapeOutputs + 1, kMaxFeatures, 1};
  for (uint32_t i = 0; i < kProgramCount; ++i) {
    const Program& program = view.programs[i];
    if (!verify_program(program, view.constants.size, view.dim_count, knobs).ok()) {
      return PackFault::kProgram;
    }
    if (program.outputs.size < least[i] || program.outputs.size > most[i]) {
      return PackFault::kProgramOutputs;
    }
  }
  return PackFault::kNone;
}

PackFault check_template(const PackView& pack, uint32_t index) {
  const TemplateView view = pack.get_template(index);
  if (view.knobs.size > TEMPER_MAX_KNOBS) {
    return PackFault::kKnobCount;
  }
  if (view.dim_count > TEMPER_MAX_DIMS) {
    return PackFault::kDimCount;
  }
  for (uint32_t other = 0; other < index; ++other) {
    if (pack.get_template(other).id == view.id) {
      return PackFault::kTemplateId;
    }
  }
  const PackFault fault = check_knobs(view);
  return fault == PackFault::kNone ? check_programs(view) : fault;
}

// How many of the values are listed by the knob they are for.
uint32_t count_listed(const TemplateView& view, Span<const uint16_t> values) {
  uint32_t knob = 0;
  while (knob < values.size && knob < view.knob_count && contains(view.values(knob), values[knob])) {
    ++knob;
  }
  return knob;
}

PackFault check_workload(const PackView& pack, uint32_t index) {
  const WorkloadView workload = pack.workload(index);
  if (workload.template_index >= pack.template_count()) {
    return PackFault::kWorkloadTemplate;
  }
  const TemplateView view = pack.get_template(workload.template_index);
  if (workload.dims.size != view.dim_count) {
    return PackFault::kWorkloadDims;
  }
  if (workload.elements_listed < TEMPER_TENSOR_COUNT || workload.elements[TEMPER_OUT] == 0 ||
      workload.constants >> TEMPER_TENSOR_COUNT != 0) {
    return PackFault::kWorkloadTensors;
  }
  for (uint32_t i = 0; i < TEMPER_TENSOR_COUNT; ++i) {
    if (workload.elements[i] >= kMaxElements) {
      return PackFault::kWorkloadTensorSize;
    }
  }
  const Span<const uint16_t> values = workload.default_values;
  const bool needed = !values.empty() || view.defaults().outputs.empty();
  if (needed && (values.size != view.knob_count || count_listed(view, values) != view.knob_count)) {
    return PackFault::kWorkloadDefault;
  }
  return PackFault::kNone;
}

PackFault check_variant(const PackView& pack, uint32_t index, const temper_pack& given) {
  const VariantView variant = pack.variant(index);
  if (variant.template_index >= pack.template_count()) {
    return PackFault::kVariantTemplate;
  }
  const TemplateView view = pack.get_template(variant.template_index);
  if (variant.values.size != view.compile_knob_count) {
    return PackFault::kVariantValueCount;
  }
  if (count_listed(view, variant.values) != view.compile_knob_count) {
    return PackFault::kVariantValue;
  }
  const bool served =
      given.kernels == nullptr || (variant.kernel < given.kernel_count && given.kernels[variant.kernel] != nullptr);
  return served ? PackFault::kNone : PackFault::kVariantKernel;
}

// Not inlined: its frame would lie under the check of the structure, which recurses.
[[gnu::noinline]] PackFault check_semantics(const PackView& pack, const temper_pack& given) {
  if (pack.template_count() > UINT8_MAX) {
    return PackFault::kTemplateCount;
  }
  if (pack.variant_count() > UINT16_MAX) {
    return PackFault::kVariantCount;
  }
  PackFault fault = PackFault::kNone;
  for (uint32_t i = 0; fault == PackFault::kNone && i < pack.template_count(); ++i) {
    fault = check_template(pack, i);
  }
  for (uint32_t i = 0; fault == PackFault::kNone && i < pack.workload_count(); ++i) {
    fault = check_workload(pack, i);
  }
  for (uint32_t i = 0; fault == PackFault::kNone && i < pack.variant_count(); ++i) {
    fault = check_variant(pack, i, given);
  }
  return fault;
}

// The most values that a template's knobs and one of its first `programs` programs are together.
uint32_t largest_scratch(const PackView& pack, uint32_t programs) {
  size_t largest = 0;
  for (uint32_t i = 0; i < pack.template_count(); ++i) {
    const TemplateView view = pack.get_template(i);
    size_t longest = 0;
    for (uint32_t p = 0; p < programs; ++p) {
      longest = view.programs[p].code.size > longest ? view.programs[p].code.size : longest;
    }
    largest = view.knob_count + longest > largest ? view.knob_count + longest : largest;
  }
  return static_cast<uint32_t>(largest);
}

}  // namespace

Knob TemplateView::knob(uint32_t index) const {
  Knob view{};
  read_table(table_of(knobs, index), kKnobTable, &view);
  return view;
}

uint16_t TemplateView::knob_id(uint32_t index) const { return knob(index).id; }

Span<const uint16_t> TemplateView::values(uint32_t index) const { return knob(index).values; }

PackFault PackView::verify(const temper_pack& pack, PackView* out) {
  *out = PackView();
  const uint8_t* const data = static_cast<const uint8_t*>(pack.data);
  if (!check_flatbuffer({data, pack.data_bytes}, kRules).ok()) {
    return PackFault::kStructure;
  }
  out->kernels_ = pack.kernels;
  read_table(data + flatbuffers::ReadScalar<uint32_t>(data), kPackTable, &out->root_);
  PackFault fault = PackFault::kVersion;
  if (out->root_.version == kPackVersion) {
    const bool whole = crc32(0, data, pack.data_bytes) == kPackCrc;
    fault = whole ? check_semantics(*out, pack) : PackFault::kChecksum;
  }
  if (fault != PackFault::kNone) {
    *out = PackView();
  }
  return fault;
}

TemplateView PackView::get_template(uint32_t index) const {
  TemplateView view{};
  read_table(table_of(root_.templates, index), kTemplateTable, &view);
  view.knob_count = static_cast<uint8_t>(view.knobs.size);
  while (view.compile_knob_count < view.knob_count && view.knob(view.compile_knob_count).kind == KnobKind::kCompile) {
    ++view.compile_knob_count;
  }
  return view;
}

WorkloadView PackView::workload(uint32_t index) const {
  WorkloadView view{};
  read_table(table_of(root_.workloads, index), kWorkloadTable, &view);
  return view;
}

uint32_t PackView::find_workload(uint64_t key) const {
  const uint32_t count = workload_count();
  uint32_t index = 0;
  while (index < count && workload(index).key != key) {
    ++index;
  }
  return index;
}

VariantView PackView::variant(uint32_t index) const {
  VariantView view{};
  read_table(table_of(root_.variants, index), kVariantTable, &view);
  return view;
}

temper_kernel PackView::kernel(uint32_t index) const { return kernels_ == nullptr ? nullptr : kernels_[index]; }
uint32_t PackView::scratch_values() const { return largest_scratch(*this, kProgramCount); }
uint32_t PackView::most_knobs() const { return largest_scratch(*this, 0); }
uint32_t PackView::scratch_intervals() const { return largest_scratch(*this, 1); }

uint32_t PackView::longest_knob_list() const {
  size_t longest = 0;
  for (uint32_t i = 0; i < template_count(); ++i) {
    const TemplateView view = get_template(i);
    for (uint32_t k = 0; k < view.knob_count; ++k) {
      const size_t count = view.values(k).size;
      longest = count > longest ? count : longest;
    }
  }
  return static_cast<uint32_t>(longest);
}

}  // namespace temper
