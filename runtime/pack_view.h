// A verified view of a kernel pack's data. Opening checks FlatBuffers' own rules and every bound they cannot know;
// afterwards all accessors are safe. Called by init and by the host tools; keeps pointers into the pack, never copies
// or allocates.
#pragma once

#include <cstdint>

#include "runtime/program.h"
#include "runtime/span.h"
#include "runtime/status.h"
#include "temper/kernel.h"

namespace temper {

namespace format {
struct DimRoles;
}

inline constexpr uint16_t kPackVersion = 1;
inline constexpr uint32_t kPackCrc = 0;  ///< of all bytes, by what the crc field holds (schedules/pack_checksum.h)
inline constexpr uint32_t kMaxFeatures = 48;
inline constexpr uint32_t kMaxKnobValues = 64;
inline constexpr uint32_t kShapeOutputs = 14;  ///< grid, workspace, packed tensor, 11 of the pack layout; then memory

inline constexpr uint32_t kProgramCount = 5;  ///< of a template

enum class KnobKind : uint8_t { kCompile = 0, kRun = 1 };

struct Knob {
  uint16_t id;
  KnobKind kind;
  Span<const uint16_t> values;  ///< strictly ascending
  const char* name;
};

struct TemplateView {
  uint16_t id, version;
  const char* name;
  uint8_t dim_count, knob_count, compile_knob_count;
  Span<const int32_t> constants;
  Program programs[kProgramCount];
  Span<const uint32_t> knobs;  ///< offsets of FlatBuffers tables, for knob()

  const Program& constraint() const { return programs[0]; }
  const Program& defaults() const { return programs[1]; }  ///< no outputs: each workload has default values
  const Program& shape() const { return programs[2]; }
  const Program& features() const { return programs[3]; }  ///< no outputs: the pack is for no learned model
  const Program& prior() const { return programs[4]; }
  Knob knob(uint32_t index) const;
  Span<const uint16_t> values(uint32_t knob) const;  ///< knob(i).values, faster
  uint16_t knob_id(uint32_t knob) const;
};

struct WorkloadView {
  uint64_t key;
  const char* name;
  uint32_t template_index;
  Span<const int32_t> dims;
  const uint32_t* elements;  ///< by temper_tensor; 0: absent
  size_t elements_listed;    ///< at least TEMPER_TENSOR_COUNT
  uint8_t constants;         ///< bit per temper_tensor
  uint16_t count;
  uint32_t digest;  ///< 0: unknown
  uint64_t flops;
  Span<const uint16_t> default_values;  ///< one listed value per knob, or empty
};

struct VariantView {
  uint32_t template_index;
  Span<const uint16_t> values;  ///< one per compile knob, in knob order
  uint16_t kernel;
};

/// What a pack was refused for.
enum class PackFault : uint8_t {
  kNone,
  kStructure,
  kVersion,
  kChecksum,
  kTemplateCount,
  kTemplateId,
  kDimCount,
  kKnobCount,
  kKnobValues,
  kKnobKind,
  kKnobId,
  kProgram,
  kProgramOutputs,
  kWorkloadTemplate,
  kWorkloadDims,
  kWorkloadTensors,
  kWorkloadTensorSize,
  kWorkloadDefault,
  kVariantCount,
  kVariantTemplate,
  kVariantValueCount,
  kVariantValue,
  kVariantKernel,
  kCount
};
/// Static text; "none" for kNone.
const char* pack_fault_text(PackFault fault);
constexpr Status status_of(PackFault fault) {
  return fault == PackFault::kNone ? TEMPER_OK : fault == PackFault::kVersion ? TEMPER_BAD_VERSION : TEMPER_BAD_DATA;
}

class PackView {
 public:
  /// Checks everything; *out is empty after a fault. What firmware calls: it links no texts.
  static PackFault verify(const temper_pack& pack, PackView* out);
  /// The same for tools. TEMPER_BAD_DATA or TEMPER_BAD_VERSION; *reason, when not null, gets the fault's text, or
  /// nullptr.
  static Status open(const temper_pack& pack, PackView* out, const char** reason);

  uint32_t pack_hash() const { return root_.pack_hash; }
  uint16_t feature_version() const { return root_.feature_version; }
  const char* target() const { return root_.target; }
  /// Nominal facts of the machine that the pack was made for, by temper_fact; empty when it tells none.
  Span<const int32_t> facts() const { return root_.facts; }
  /// By template where the pack tells them; the list may be of any length.
  Span<const format::DimRoles> dim_roles() const { return root_.dim_roles; }
  uint32_t template_count() const { return static_cast<uint32_t>(root_.templates.size); }
  uint32_t workload_count() const { return static_cast<uint32_t>(root_.workloads.size); }
  /// 0: the runner builds any config.
  uint32_t variant_count() const { return static_cast<uint32_t>(root_.variants.size); }
  TemplateView get_template(uint32_t index) const;
  WorkloadView workload(uint32_t index) const;
  uint32_t find_workload(uint64_t key) const;  ///< workload_count() when there is none with this key
  VariantView variant(uint32_t index) const;
  temper_kernel kernel(uint32_t index) const;  ///< nullptr when the pack has no kernels
  uint32_t scratch_values() const;     ///< what Scratch::values holds: knobs and program of the template with most
  uint32_t scratch_intervals() const;  ///< what Scratch::intervals holds: the same of constraints alone
  uint32_t longest_knob_list() const;
  uint32_t most_knobs() const;  ///< of any template

  /// The pack's own fields; lists of tables as offsets.
  struct Root {
    uint16_t version, feature_version;
    uint32_t pack_hash;
    const char* target;
    Span<const uint32_t> templates, workloads, variants;
    Span<const int32_t> facts;
    uint32_t crc;  ///< read nowhere: it is the whole that has a checksum
    Span<const format::DimRoles> dim_roles;
  };

 private:
  Root root_{};
  const temper_kernel* kernels_ = nullptr;
};

}  // namespace temper
