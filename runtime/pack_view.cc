#include "runtime/pack_view.h"

#include <initializer_list>

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
    tables_field(kWorkloadTable), optional(tables_field(kVariantTable)),
    // Template
    scalar_field(2), scalar_field(2), string_field(), scalar_field(1), tables_field(kKnobTable),
    optional(vector_field(4, 4)), table_field(kProgramTable), table_field(kProgramTable), table_field(kProgramTable),
    table_field(kProgramTable), table_field(kProgramTable),
    // Knob
    scalar_field(2), scalar_field(1), vector_field(2, 2), string_field(),
    // Program
    optional(vector_field(sizeof(Instruction), 1)), optional(vector_field(1, 1)),
    // Workload
    scalar_field(8), scalar_field(1), string_field(), optional(vector_field(4, 4)), vector_field(4, 4), scalar_field(1),
    scalar_field(2), scalar_field(4), scalar_field(8),
    // Variant
    scalar_field(1), optional(vector_field(2, 2)), scalar_field(2)};
constexpr uint8_t kStarts[] = {0, 7, 18, 22, 24, 33, 36};
static_assert(sizeof kFields / sizeof *kFields == 36, "the last start is the field count");
constexpr FlatbufferRules kRules = {"TMPK", kFields, kStarts};

constexpr uint32_t kMaxElements = 1u << 29;  // a tensor of f32 stays below 2^31 bytes

template <class T>
Span<const T> view_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? Span<const T>() : Span<const T>(vector->data(), vector->size());
}

Program view_of(const format::Program* program) {
  const auto* code = program->instructions();
  Program view;
  if (code != nullptr) {
    view.code = {reinterpret_cast<const Instruction*>(code->Data()), code->size()};
  }
  view.outputs = view_of(program->outputs());
  return view;
}

Knob view_of(const format::Knob* knob) {
  return {knob->id(), static_cast<KnobKind>(knob->kind()), view_of(knob->values()), knob->name()->c_str()};
}

template <class T>
uint32_t size_of(const flatbuffers::Vector<flatbuffers::Offset<T>>* tables) {
  return tables == nullptr ? 0 : tables->size();
}

const format::Pack* pack_of(const void* root) { return static_cast<const format::Pack*>(root); }

bool strictly_ascending(Span<const uint16_t> values) {
  for (size_t i = 1; i < values.size; ++i) {
    if (values[i - 1] >= values[i]) {
      return false;
    }
  }
  return true;
}

bool contains(Span<const uint16_t> values, uint16_t wanted) {
  for (const uint16_t value : values) {
    if (value == wanted) {
      return true;
    }
  }
  return false;
}

// What FlatBuffers' own rules cannot know. Each check returns nullptr or the text of what failed.
const char* check_knobs(const TemplateView& view) {
  for (uint32_t i = 0; i < view.knob_count; ++i) {
    const Knob knob = view.knob(i);
    if (knob.values.empty() || knob.values.size > kMaxKnobValues || !strictly_ascending(knob.values)) {
      return "knob values";
    }
    if (knob.kind != (i < view.compile_knob_count ? KnobKind::kCompile : KnobKind::kRun)) {
      return "knob kind or order";
    }
    for (uint32_t other = 0; other < i; ++other) {
      if (view.knob(other).id == knob.id) {
        return "knob id twice";
      }
    }
  }
  return nullptr;
}

const char* check_programs(const TemplateView& view) {
  struct {
    const Program* program;
    size_t min_outputs, max_outputs;
  } const rules[] = {{&view.constraint, 0, kMaxInstructions},
                     {&view.defaults, view.knob_count, view.knob_count},
                     {&view.shape, kShapeOutputs, kShapeOutputs},
                     {&view.features, 0, kMaxFeatures},
                     {&view.prior, 1, 1}};
  for (const auto& rule : rules) {
    const Program& program = *rule.program;
    if (!verify_program(program, view.constants.size, view.dim_count, view.knob_count).ok()) {
      return "program";
    }
    if (program.outputs.size < rule.min_outputs || program.outputs.size > rule.max_outputs) {
      return "program outputs";
    }
  }
  return nullptr;
}

const char* check_templates(const PackView& pack) {
  const uint32_t count = pack.template_count();
  if (count > UINT8_MAX) {
    return "template count";
  }
  for (uint32_t i = 0; i < count; ++i) {
    const auto* table = pack_of(pack.root())->templates()->Get(i);
    if (table->knobs()->size() > TEMPER_MAX_KNOBS) {
      return "knob count";
    }
    const TemplateView view = pack.get_template(i);
    if (view.dim_count > TEMPER_MAX_DIMS) {
      return "dim count";
    }
    for (uint32_t other = 0; other < i; ++other) {
      if (pack.get_template(other).id == view.id) {
        return "template id twice";
      }
    }
    const char* reason = check_knobs(view);
    reason = reason == nullptr ? check_programs(view) : reason;
    if (reason != nullptr) {
      return reason;
    }
  }
  return nullptr;
}

const char* check_workloads(const PackView& pack) {
  for (uint32_t i = 0; i < pack.workload_count(); ++i) {
    const WorkloadView workload = pack.workload(i);
    if (workload.template_index >= pack.template_count()) {
      return "workload template";
    }
    if (workload.dims.size != pack.get_template(workload.template_index).dim_count) {
      return "workload dims";
    }
    if (workload.elements[TEMPER_OUT] == 0 || workload.constants >> TEMPER_TENSOR_COUNT != 0) {
      return "workload tensors";
    }
    for (const uint32_t size : workload.elements) {
      if (size >= kMaxElements) {
        return "workload tensor size";
      }
    }
  }
  return nullptr;
}

const char* check_variants(const PackView& pack, const temper_pack& given) {
  if (pack.variant_count() > UINT16_MAX) {
    return "variant count";
  }
  for (uint32_t i = 0; i < pack.variant_count(); ++i) {
    const VariantView variant = pack.variant(i);
    if (variant.template_index >= pack.template_count()) {
      return "variant template";
    }
    const TemplateView view = pack.get_template(variant.template_index);
    if (variant.values.size != view.compile_knob_count) {
      return "variant value count";
    }
    for (uint32_t knob = 0; knob < view.compile_knob_count; ++knob) {
      if (!contains(view.values(knob), variant.values[knob])) {
        return "variant value";
      }
    }
    if (given.kernels != nullptr &&
        (variant.kernel >= given.kernel_count || given.kernels[variant.kernel] == nullptr)) {
      return "variant kernel";
    }
  }
  return nullptr;
}

}  // namespace

Knob TemplateView::knob(uint32_t index) const {
  return view_of(static_cast<const format::Template*>(table)->knobs()->Get(index));
}

Span<const uint16_t> TemplateView::values(uint32_t knob) const {
  return view_of(static_cast<const format::Template*>(table)->knobs()->Get(knob)->values());
}

// The largest of everything: sizes of the evaluators' scratch.
void PackView::measure() {
  const auto raise = [](uint16_t* most, size_t value) { *most = value > *most ? static_cast<uint16_t>(value) : *most; };
  for (uint32_t i = 0; i < template_count(); ++i) {
    const TemplateView view = get_template(i);
    for (const Program* program : {&view.constraint, &view.defaults, &view.shape, &view.features, &view.prior}) {
      raise(&longest_program_, program->code.size);
    }
    raise(&longest_constraint_, view.constraint.code.size);
    raise(&most_knobs_, view.knob_count);
  }
}

Status PackView::open(const temper_pack& pack, PackView* out, const char** reason) {
  *out = PackView();
  const char* failed = "structure";
  Status status = TEMPER_BAD_DATA;
  if (check_flatbuffer({static_cast<const uint8_t*>(pack.data), pack.data_bytes}, kRules).ok()) {
    out->root_ = flatbuffers::GetRoot<format::Pack>(pack.data);
    out->kernels_ = pack.kernels;
    if (pack_of(out->root_)->version() != kPackVersion) {
      failed = "version";
      status = TEMPER_BAD_VERSION;
    } else {
      failed = check_templates(*out);
      failed = failed == nullptr ? check_workloads(*out) : failed;
      failed = failed == nullptr ? check_variants(*out, pack) : failed;
    }
  }
  if (failed == nullptr) {
    out->measure();
    status = TEMPER_OK;
  } else {
    *out = PackView();
  }
  if (reason != nullptr) {
    *reason = failed;
  }
  return status;
}

uint32_t PackView::pack_hash() const { return pack_of(root_)->pack_hash(); }
uint16_t PackView::feature_version() const { return pack_of(root_)->feature_version(); }
const char* PackView::target() const { return pack_of(root_)->target()->c_str(); }
uint32_t PackView::template_count() const { return pack_of(root_)->templates()->size(); }
uint32_t PackView::workload_count() const { return pack_of(root_)->workloads()->size(); }
uint32_t PackView::variant_count() const { return size_of(pack_of(root_)->variants()); }

TemplateView PackView::get_template(uint32_t index) const {
  const auto* table = pack_of(root_)->templates()->Get(index);
  TemplateView view{};
  view.id = table->id();
  view.version = table->version();
  view.name = table->name()->c_str();
  view.dim_count = table->dim_count();
  view.knob_count = static_cast<uint8_t>(table->knobs()->size());
  view.constants = view_of(table->constants());
  view.constraint = view_of(table->constraint());
  view.defaults = view_of(table->defaults());
  view.shape = view_of(table->shape());
  view.features = view_of(table->features());
  view.prior = view_of(table->prior());
  view.table = table;
  while (view.compile_knob_count < view.knob_count && view.knob(view.compile_knob_count).kind == KnobKind::kCompile) {
    ++view.compile_knob_count;
  }
  return view;
}

WorkloadView PackView::workload(uint32_t index) const {
  const auto* table = pack_of(root_)->workloads()->Get(index);
  WorkloadView view{};
  view.key = table->key();
  view.name = table->name()->c_str();
  view.template_index = table->template_index();
  view.dims = view_of(table->dims());
  for (uint32_t i = 0; i < TEMPER_TENSOR_COUNT; ++i) {
    view.elements[i] = i < table->elements()->size() ? table->elements()->Get(i) : 0;
  }
  view.constants = table->constants();
  view.count = table->count();
  view.digest = table->digest();
  view.flops = table->flops();
  return view;
}

uint32_t PackView::find_workload(uint64_t key) const {
  const auto* workloads = pack_of(root_)->workloads();
  uint32_t index = 0;
  while (index < workloads->size() && workloads->Get(index)->key() != key) {
    ++index;
  }
  return index;
}

VariantView PackView::variant(uint32_t index) const {
  const auto* table = pack_of(root_)->variants()->Get(index);
  return {table->template_index(), view_of(table->values()), table->kernel()};
}

temper_kernel PackView::kernel(uint32_t index) const { return kernels_ == nullptr ? nullptr : kernels_[index]; }
uint32_t PackView::longest_program() const { return longest_program_; }
uint32_t PackView::scratch_values() const { return uint32_t{most_knobs_} + longest_program_; }
uint32_t PackView::scratch_intervals() const { return uint32_t{most_knobs_} + longest_constraint_; }

uint32_t PackView::longest_knob_list() const {
  size_t longest = 0;
  for (uint32_t i = 0; i < template_count(); ++i) {
    const auto* knobs = pack_of(root_)->templates()->Get(i)->knobs();
    for (uint32_t k = 0; k < knobs->size(); ++k) {
      const size_t count = knobs->Get(k)->values()->size();
      longest = count > longest ? count : longest;
    }
  }
  return static_cast<uint32_t>(longest);
}

}  // namespace temper
