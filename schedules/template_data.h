// A template's space in host memory, before it is written into a pack: knob lists and integer programs. One function
// per template builds it; spaces.cc writes it. Never seen by a device.
#pragma once

#include <string>
#include <vector>

#include "runtime/pack_view.h"
#include "schedules/space_builder.h"
#include "schedules/templates.h"

namespace temper {

struct KnobData {
  KnobKind kind;
  std::string name;
  std::vector<uint16_t> values;  ///< strictly ascending
  int32_t id = -1;               ///< what records store; -1: its place among the knobs
};

struct TemplateData {
  TemplateId id;
  uint16_t version;
  std::string name;
  uint8_t dim_count;
  std::vector<KnobData> knobs;  ///< by the template's knob enum, which is also the knob's id; then what packs add
  ConstantPool constants;
  ProgramData constraint, defaults, shape, features, prior;
};

/// In a block knob: the whole extent. Smaller values are legal only while they make a block smaller than the extent.
inline constexpr int32_t kWhole = 65535;

using BuildProgram = Result<ProgramData>(ConstantPool*);

/// The template with its programs built; an error names the program.
Result<TemplateData> with_programs(TemplateData data, BuildProgram* constraint, BuildProgram* defaults,
                                   BuildProgram* shape, BuildProgram* features, BuildProgram* prior);

Result<TemplateData> gemm_template();
Result<TemplateData> depthwise_template();

/// What every template may ask of the facts.
struct FactTerms {
  explicit FactTerms(ProgramBuilder& builder);
  Expr lanes, registers, l1, l2, l3, threads, latency, per_cycle;
  Expr vector_lanes;  ///< 1, 4, 8 or 16: the widest listed vector
  Expr wide;  ///< 1: starts two or more multiply-adds a cycle, so that loads and loop control overlap arithmetic
};

/// Lanes are listed, fit the machine, and are neither much narrower than it nor much wider than `extent`.
Expr lanes_legal(const FactTerms& facts, Expr lanes, Expr extent);
/// Lanes to wish for along `extent`.
Expr default_lanes(const FactTerms& facts, Expr extent);
/// Q4 log of a positive value for a feature vector, less `less_q4`. Space::features clamps to 0..255.
Expr feature_log(Expr value, int32_t less_q4);

}  // namespace temper
