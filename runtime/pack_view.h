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

inline constexpr uint16_t kPackVersion = 1;
inline constexpr uint32_t kMaxFeatures = 48;
inline constexpr uint32_t kMaxKnobValues = 64;
inline constexpr uint32_t kShapeOutputs = 14;  ///< grid, workspace, packed tensor, 11 of the pack layout

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
  Program constraint, defaults, shape, features, prior;
  const void* table;  ///< the FlatBuffers table, for knob()
  Knob knob(uint32_t index) const;
  Span<const uint16_t> values(uint32_t knob) const;  ///< knob(i).values, faster
};

struct WorkloadView {
  uint64_t key;
  const char* name;
  uint32_t template_index;
  Span<const int32_t> dims;
  uint32_t elements[TEMPER_TENSOR_COUNT];  ///< 0: absent
  uint8_t constants;                       ///< bit per temper_tensor
  uint16_t count;
  uint32_t digest;  ///< 0: unknown
  uint64_t flops;
};

struct VariantView {
  uint32_t template_index;
  Span<const uint16_t> values;  ///< one per compile knob, in knob order
  uint16_t kernel;
};

class PackView {
 public:
  /// TEMPER_BAD_DATA or TEMPER_BAD_VERSION; *reason, when not null, gets a static text naming what failed.
  static Status open(const temper_pack& pack, PackView* out, const char** reason);

  uint32_t pack_hash() const;
  uint16_t feature_version() const;
  const char* target() const;
  uint32_t template_count() const;
  uint32_t workload_count() const;
  uint32_t variant_count() const;  ///< 0: the runner builds any config
  TemplateView get_template(uint32_t index) const;
  WorkloadView workload(uint32_t index) const;
  uint32_t find_workload(uint64_t key) const;  ///< workload_count() when there is none with this key
  VariantView variant(uint32_t index) const;
  temper_kernel kernel(uint32_t index) const;  ///< nullptr when the pack has no kernels
  uint32_t longest_program() const;            ///< instructions
  uint32_t scratch_values() const;             ///< what Scratch::values and
  uint32_t scratch_intervals() const;          ///< Scratch::intervals hold: of the longest program, and of the knobs
  uint32_t longest_knob_list() const;
  const void* root() const { return root_; }  ///< format::Pack; nullptr before open

 private:
  void measure();

  const void* root_ = nullptr;
  const temper_kernel* kernels_ = nullptr;
  uint16_t longest_program_ = 0;
  uint16_t longest_constraint_ = 0;
  uint16_t most_knobs_ = 0;
};

}  // namespace temper
