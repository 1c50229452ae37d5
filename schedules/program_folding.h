// Rebuilds integer programs: as they are, to go on from their values, or folded over the cases that a pack can meet, so
// that what is the same in all of them is a constant and what only others need is gone. Used where packs are written;
// never changes a result in one of the cases.
#pragma once

#include <vector>

#include "schedules/space_builder.h"

namespace temper {

/// The program's values inside `builder`, one per instruction.
std::vector<Expr> replay(ProgramBuilder& builder, const ProgramData& program, const std::vector<int32_t>& constants);

/// What a program may meet: one workload's dims, and the interval of each knob and of each fact.
struct FoldCase {
  const std::vector<int32_t>* dims;
  std::vector<Interval> knobs;
};

enum class FoldOutputs : uint8_t {
  kValues,  ///< every output stays, in order
  kTruth,   ///< an output that is never 0 is left out (constraints)
};

/// The program with the same outputs in every case. `facts`: what is known of them, by temper_fact. `pool` takes the
/// constants that are left. At least one case.
Result<ProgramData> fold_program(const ProgramData& program, const std::vector<int32_t>& constants,
                                 const std::vector<FoldCase>& cases, const std::vector<Interval>& facts,
                                 FoldOutputs outputs, ConstantPool* pool);

/// False only when some output of the constraint is 0 in that case.
bool may_hold_in(const ProgramData& constraint, const std::vector<int32_t>& constants, const FoldCase& at,
                 const std::vector<Interval>& facts);

}  // namespace temper
