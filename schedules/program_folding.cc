#include "schedules/program_folding.h"

#include <algorithm>
#include <optional>

namespace temper {
namespace {

bool is_point(Interval at) { return at.low == at.high; }

/// The evaluator takes facts as numbers and knobs as intervals: here facts are read as further knobs.
ProgramData with_facts_as_knobs(const ProgramData& program, size_t knob_count) {
  ProgramData result = program;
  for (Instruction& at : result.code) {
    if (static_cast<Op>(at.op) == Op::kFact) {
      at.op = static_cast<uint8_t>(Op::kKnob);
      at.a = static_cast<uint8_t>(knob_count + at.a);
    }
  }
  return result;
}

std::vector<Interval> bounds(const ProgramData& program, const std::vector<int32_t>& constants, const FoldCase& at,
                             const std::vector<Interval>& facts) {
  std::vector<Interval> knobs = at.knobs;
  knobs.insert(knobs.end(), facts.begin(), facts.end());
  std::vector<Interval> values(program.code.size());
  const ProgramInputs inputs{
      {constants.data(), constants.size()}, {at.dims->data(), at.dims->size()}, {nullptr, knobs.size()}, {}};
  evaluate_intervals(program.view(), inputs, {knobs.data(), knobs.size()}, values.data());
  return values;
}

/// What holds of an instruction's value, and of its operands' relation, in every case so far.
struct Known {
  std::optional<Interval> value;
  bool a_not_below_b = true, a_not_above_b = true;
  bool a_never_zero = true, a_always_zero = true;
  bool b_never_zero = true, b_always_zero = true;
  bool a_is_truth = true, b_is_truth = true;  ///< 0 or 1

  void meet(Interval own, Interval a, Interval b) {
    value = value ? Interval{std::min(value->low, own.low), std::max(value->high, own.high)} : own;
    a_not_below_b = a_not_below_b && a.low >= b.high;
    a_not_above_b = a_not_above_b && a.high <= b.low;
    a_never_zero = a_never_zero && (a.low > 0 || a.high < 0);
    a_always_zero = a_always_zero && a.low == 0 && a.high == 0;
    b_never_zero = b_never_zero && (b.low > 0 || b.high < 0);
    b_always_zero = b_always_zero && b.low == 0 && b.high == 0;
    a_is_truth = a_is_truth && a.low >= 0 && a.high <= 1;
    b_is_truth = b_is_truth && b.low >= 0 && b.high <= 1;
  }
};

std::vector<Known> learn(const ProgramData& program, const std::vector<int32_t>& constants,
                         const std::vector<FoldCase>& cases, const std::vector<Interval>& facts) {
  const ProgramData open = with_facts_as_knobs(program, cases.front().knobs.size());
  std::vector<Known> known(program.code.size());
  for (const FoldCase& at : cases) {
    const std::vector<Interval> values = bounds(open, constants, at, facts);
    for (size_t i = 0; i < values.size(); ++i) {
      const Instruction& code = program.code[i];
      const bool leaf = static_cast<Op>(code.op) <= Op::kFact;
      known[i].meet(values[i], leaf ? values[i] : values[code.a], leaf ? values[i] : values[code.b]);
    }
  }
  return known;
}

/// The operand that the value always equals, where one does.
std::optional<uint8_t> same_operand(const Instruction& at, const Known& known) {
  switch (static_cast<Op>(at.op)) {
    case Op::kMin:
      return known.a_not_above_b ? std::optional(at.a) : known.a_not_below_b ? std::optional(at.b) : std::nullopt;
    case Op::kMax:
      return known.a_not_below_b ? std::optional(at.a) : known.a_not_above_b ? std::optional(at.b) : std::nullopt;
    case Op::kSelect:
      return known.a_never_zero ? std::optional(at.b) : known.a_always_zero ? std::optional(at.c) : std::nullopt;
    case Op::kAnd:
      return known.a_never_zero && known.b_is_truth   ? std::optional(at.b)
             : known.b_never_zero && known.a_is_truth ? std::optional(at.a)
                                                      : std::nullopt;
    case Op::kOr:
      return known.a_always_zero && known.b_is_truth   ? std::optional(at.b)
             : known.b_always_zero && known.a_is_truth ? std::optional(at.a)
                                                       : std::nullopt;
    case Op::kAdd:
      return known.a_always_zero ? std::optional(at.b) : known.b_always_zero ? std::optional(at.a) : std::nullopt;
    default:
      return std::nullopt;
  }
}

Expr leaf_or_apply(ProgramBuilder& builder, const Instruction& at, const std::vector<int32_t>& constants,
                   const std::vector<Expr>& values) {
  switch (static_cast<Op>(at.op)) {
    case Op::kConst:
      return builder.constant(constants[at.a]);
    case Op::kDim:
      return builder.dim(at.a);
    case Op::kKnob:
      return builder.knob(at.a);
    case Op::kFact:
      return builder.fact(at.a);
    case Op::kMul: {  // the builder drops a factor 1 on the right
      const Expr one = builder.constant(1);
      const bool swapped = values[at.a].node == one.node;
      return builder.apply(Op::kMul, values[swapped ? at.b : at.a], values[swapped ? at.a : at.b], one);
    }
    default:
      return builder.apply(static_cast<Op>(at.op), values[at.a], values[at.b], values[at.c]);
  }
}

}  // namespace

std::vector<Expr> replay(ProgramBuilder& builder, const ProgramData& program, const std::vector<int32_t>& constants) {
  std::vector<Expr> values;
  for (const Instruction& at : program.code) {
    values.push_back(leaf_or_apply(builder, at, constants, values));
  }
  return values;
}

Result<ProgramData> fold_program(const ProgramData& program, const std::vector<int32_t>& constants,
                                 const std::vector<FoldCase>& cases, const std::vector<Interval>& facts,
                                 FoldOutputs outputs, ConstantPool* pool) {
  const std::vector<Known> known = learn(program, constants, cases, facts);
  ProgramBuilder builder(pool);
  std::vector<Expr> values;
  for (size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& at = program.code[i];
    const std::optional<uint8_t> same = same_operand(at, known[i]);
    values.push_back(is_point(*known[i].value) ? builder.constant(known[i].value->low)
                     : same                    ? values[*same]
                                               : leaf_or_apply(builder, at, constants, values));
  }
  std::vector<Expr> kept;
  for (const uint8_t output : program.outputs) {
    const Interval value = *known[output].value;
    const bool always = value.low > 0 || value.high < 0;
    const bool repeated = std::any_of(kept.begin(), kept.end(), [&](Expr e) { return e.node == values[output].node; });
    if (outputs == FoldOutputs::kValues || !(always || repeated)) {
      kept.push_back(values[output]);
    }
  }
  return builder.finish(kept);
}

bool may_hold_in(const ProgramData& constraint, const std::vector<int32_t>& constants, const FoldCase& at,
                 const std::vector<Interval>& facts) {
  const std::vector<Interval> values = bounds(with_facts_as_knobs(constraint, at.knobs.size()), constants, at, facts);
  return std::none_of(constraint.outputs.begin(), constraint.outputs.end(),
                      [&](uint8_t output) { return values[output].low == 0 && values[output].high == 0; });
}

}  // namespace temper
