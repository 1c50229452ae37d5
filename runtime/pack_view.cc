#include "runtime/pack_view.h"

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
    tables_field(kWorkloadTable), optional(tables_field(kVariantTable)), optional(vector_field(4, 4)),
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
constexpr uint8_t kStarts[] = {0, 8, 19, 23, 25, 35, 38};
static_assert(sizeof kFields / sizeof *kFields == 38, "the last start is the field count");
constexpr FlatbufferRules kRules = {"TMPK", kFields, kStarts};

constexpr uint32_t kMaxElements = 1u << 29;  // a tensor of f32 stays below 2^31 bytes

// A field of any table. Generated accessors come one function a type; these come once.
using FieldOffset = flatbuffers::voffset_t;

[[gnu::noinline]] const uint8_t* pointer_at(const void* table, FieldOffset field) {
  return static_cast<const flatbuffers::Table*>(table)->GetPointer<const uint8_t*>(field);
}

[[gnu::noinline]] Span<const uint8_t> bytes_at(const void* table, FieldOffset field) {
  const uint8_t* const vector = pointer_at(table, field);
  if (vector == nullptr) {
    return {};
  }
  return {vector + sizeof(uint32_t), flatbuffers::ReadScalar<uint32_t>(vector)};
}

// The elements of a vector, none where it is absent.
template <class T>
Span<const T> list_at(const void* table, FieldOffset field) {
  const Span<const uint8_t> bytes = bytes_at(table, field);
  return {reinterpret_cast<const T*>(bytes.data), bytes.size};
}

// Of a vector of tables, `index` below its size.
[[gnu::noinline]] const void* table_at(const void* table, FieldOffset field, uint32_t index) {
  using Tables = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
  return reinterpret_cast<const Tables*>(pointer_at(table, field))->Get(index);
}

uint32_t count_at(const void* table, FieldOffset field) { return static_cast<uint32_t>(bytes_at(table, field).size); }

const char* text_at(const void* table, FieldOffset field) {
  return reinterpret_cast<const char*>(pointer_at(table, field) + sizeof(uint32_t));
}

const format::Pack* pack_of(const void* root) { return static_cast<const format::Pack*>(root); }

const format::Knob* knob_of(const void* template_table, uint32_t index) {
  return static_cast<const format::Knob*>(table_at(template_table, format::Template::VT_KNOBS, index));
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
    const format::Knob* const knob = knob_of(view.table, i);
    const Span<const uint16_t> values = list_at<uint16_t>(knob, format::Knob::VT_VALUES);
    int32_t last = -1;
    for (const uint16_t value : values) {
      if (value <= last) {
        return PackFault::kKnobValues;
      }
      last = value;
    }
    if (last < 0 || values.size > kMaxKnobValues) {
      return PackFault::kKnobValues;
    }
    const KnobKind kind = i < view.compile_knob_count ? KnobKind::kCompile : KnobKind::kRun;
    if (static_cast<KnobKind>(knob->kind()) != kind) {
      return PackFault::kKnobKind;
    }
    for (uint32_t other = 0; other < i; ++other) {
      if (knob_of(view.table, other)->id() == knob->id()) {
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
  if (count_at(view.table, format::Template::VT_KNOBS) > TEMPER_MAX_KNOBS) {
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
  if (workload.elements[TEMPER_OUT] == 0 || workload.constants >> TEMPER_TENSOR_COUNT != 0) {
    return PackFault::kWorkloadTensors;
  }
  for (const uint32_t size : workload.elements) {
    if (size >= kMaxElements) {
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

PackFault check_semantics(const PackView& pack, const temper_pack& given) {
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
  const format::Knob* const knob = knob_of(table, index);
  return {knob->id(), static_cast<KnobKind>(knob->kind()), list_at<uint16_t>(knob, format::Knob::VT_VALUES),
          text_at(knob, format::Knob::VT_NAME)};
}

uint16_t TemplateView::knob_id(uint32_t knob) const { return knob_of(table, knob)->id(); }

Span<const uint16_t> TemplateView::values(uint32_t knob) const {
  return list_at<uint16_t>(knob_of(table, knob), format::Knob::VT_VALUES);
}

PackFault PackView::verify(const temper_pack& pack, PackView* out) {
  *out = PackView();
  if (!check_flatbuffer({static_cast<const uint8_t*>(pack.data), pack.data_bytes}, kRules).ok()) {
    return PackFault::kStructure;
  }
  PackView view;
  view.root_ = flatbuffers::GetRoot<format::Pack>(pack.data);
  view.kernels_ = pack.kernels;
  const PackFault fault =
      pack_of(view.root_)->version() == kPackVersion ? check_semantics(view, pack) : PackFault::kVersion;
  if (fault != PackFault::kNone) {
    return fault;
  }
  *out = view;
  return fault;
}

uint32_t PackView::pack_hash() const { return pack_of(root_)->pack_hash(); }
uint16_t PackView::feature_version() const { return pack_of(root_)->feature_version(); }
const char* PackView::target() const { return text_at(root_, format::Pack::VT_TARGET); }
Span<const int32_t> PackView::facts() const { return list_at<int32_t>(root_, format::Pack::VT_FACTS); }
uint32_t PackView::template_count() const { return count_at(root_, format::Pack::VT_TEMPLATES); }
uint32_t PackView::workload_count() const { return count_at(root_, format::Pack::VT_WORKLOADS); }
uint32_t PackView::variant_count() const { return count_at(root_, format::Pack::VT_VARIANTS); }

TemplateView PackView::get_template(uint32_t index) const {
  const auto* table = static_cast<const format::Template*>(table_at(root_, format::Pack::VT_TEMPLATES, index));
  TemplateView view{};
  view.id = table->id();
  view.version = table->version();
  view.name = text_at(table, format::Template::VT_NAME);
  view.dim_count = table->dim_count();
  view.knob_count = static_cast<uint8_t>(count_at(table, format::Template::VT_KNOBS));
  view.constants = list_at<int32_t>(table, format::Template::VT_CONSTANTS);
  for (uint32_t i = 0; i < kProgramCount; ++i) {
    const uint8_t* const program = pointer_at(table, static_cast<FieldOffset>(format::Template::VT_CONSTRAINT + 2 * i));
    if (program != nullptr) {
      view.programs[i].code = list_at<Instruction>(program, format::Program::VT_INSTRUCTIONS);
      view.programs[i].outputs = list_at<uint8_t>(program, format::Program::VT_OUTPUTS);
    }
  }
  view.table = table;
  while (view.compile_knob_count < view.knob_count &&
         knob_of(table, view.compile_knob_count)->kind() == format::KnobKind::Compile) {
    ++view.compile_knob_count;
  }
  return view;
}

WorkloadView PackView::workload(uint32_t index) const {
  const auto* table = static_cast<const format::Workload*>(table_at(root_, format::Pack::VT_WORKLOADS, index));
  WorkloadView view{};
  view.key = table->key();
  view.name = text_at(table, format::Workload::VT_NAME);
  view.template_index = table->template_index();
  view.dims = list_at<int32_t>(table, format::Workload::VT_DIMS);
  const Span<const uint32_t> elements = list_at<uint32_t>(table, format::Workload::VT_ELEMENTS);
  for (uint32_t i = 0; i < TEMPER_TENSOR_COUNT && i < elements.size; ++i) {
    view.elements[i] = elements[i];
  }
  view.constants = table->constants();
  view.count = table->count();
  view.digest = table->digest();
  view.flops = table->flops();
  view.default_values = list_at<uint16_t>(table, format::Workload::VT_DEFAULT_VALUES);
  return view;
}

uint32_t PackView::find_workload(uint64_t key) const {
  const uint32_t count = workload_count();
  uint32_t index = 0;
  while (index < count &&
         static_cast<const format::Workload*>(table_at(root_, format::Pack::VT_WORKLOADS, index))->key() != key) {
    ++index;
  }
  return index;
}

VariantView PackView::variant(uint32_t index) const {
  const auto* table = static_cast<const format::Variant*>(table_at(root_, format::Pack::VT_VARIANTS, index));
  return {table->template_index(), list_at<uint16_t>(table, format::Variant::VT_VALUES), table->kernel()};
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
