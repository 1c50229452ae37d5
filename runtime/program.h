// The integer programs that a space is made of (constraints, defaults, shapes, features, prior), and their evaluators.
// A program is a straight line of instructions in SSA form: instruction i defines value i from earlier values. 32-bit
// saturating arithmetic, no loops, no calls: running time is the instruction count. Called by Space and by host tools;
// never allocates.
#pragma once

#include <cstdint>

#include "runtime/span.h"
#include "runtime/status.h"
#include "temper/kernel.h"

namespace temper {

inline constexpr uint32_t kMaxInstructions = 255;

/// Persisted in packs: append only. a, b, c are operands: values of earlier instructions, unless said otherwise.
/// Results saturate to int32. div, mod, ceil_div, round_up by a divisor <= 0 give 0.
enum class Op : uint8_t {
  kConst = 0,  ///< constants[a]
  kDim,        ///< dims[a] of the workload
  kKnob,       ///< the value (not the index) of knob a
  kFact,       ///< facts[a]
  kAdd,
  kSub,
  kMul,
  kDiv,      ///< floor
  kCeilDiv,  ///< rounds up
  kMod,      ///< sign of the divisor; operands are non-negative in practice
  kRoundUp,  ///< to a multiple of b
  kMin,
  kMax,
  kLess,  ///< 1 or 0
  kLessEqual,
  kEqual,
  kAnd,  ///< both non-zero
  kOr,
  kNot,
  kSelect,  ///< a != 0 ? b : c
  kLog2,    ///< log2(a) in Q8, piecewise linear between powers of two; 0 for a <= 1
  kLogAdd,  ///< log2(2^a + 2^b) of Q8 logs, by table
  kOpCount
};

/// As stored in a pack (format::Instruction has the same layout; checked where packs are opened).
struct Instruction {
  uint8_t op, a, b, c;
};

struct Program {
  Span<const Instruction> code;
  Span<const uint8_t> outputs;
};

/// What a program reads. knob_values holds one value per knob.
struct ProgramInputs {
  Span<const int32_t> constants;
  Span<const int32_t> dims;
  Span<const int32_t> knob_values;
  Span<const int32_t> facts;
};

constexpr bool reads_input(Op op) { return op <= Op::kFact; }
/// What one op computes from its operands' values. Not for those that read inputs.
int32_t apply(Op op, int32_t a, int32_t b, int32_t c);

/// Rejects unknown ops, operands that are not earlier values, and indices past the given counts. TEMPER_BAD_DATA.
Status verify_program(const Program& program, size_t constant_count, size_t dim_count, size_t knob_count);

/// Evaluates a verified program. `values` holds at least code.size entries; output j is values[program.outputs[j]].
void evaluate(const Program& program, const ProgramInputs& inputs, int32_t* values);

/// Whether every output is non-zero: evaluates no further than the first that is 0. So a constraint's cheapest and most
/// selective output belongs first, and what only later ones need behind it.
bool holds(const Program& program, const ProgramInputs& inputs, int32_t* values);

struct Interval {
  int32_t low, high;
};

/// Sound bounds of every value when each knob lies anywhere in its interval. `values` as for evaluate.
void evaluate_intervals(const Program& program, const ProgramInputs& inputs, Span<const Interval> knobs,
                        Interval* values);

/// False only when some output is 0 wherever in their intervals the knobs lie; stops at the first such output.
bool may_hold(const Program& program, const ProgramInputs& inputs, Span<const Interval> knobs, Interval* values);

/// log2(value) in Q8 as kLog2 computes it; shared with the searchers, which work on log times.
int32_t log2_q8(uint64_t value);

}  // namespace temper
