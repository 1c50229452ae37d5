// Programs over intervals: sound bounds where knobs are not chosen yet. See runtime/program.h.
#include "runtime/program.h"

namespace temper {
namespace {

Interval hull(Interval a, Interval b) { return {a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high}; }

bool is_point(Interval a) { return a.low == a.high; }
bool has_zero(Interval a) { return a.low <= 0 && a.high >= 0; }

// 1, 0 or either: what a truth value can be.
Interval truth(bool can_be_false, bool can_be_true) { return {can_be_false ? 0 : 1, can_be_true ? 1 : 0}; }

// Bounds of an op that is monotone in each operand while the other is fixed: they lie at the corners.
Interval corners(Op op, Interval a, Interval b) {
  const int32_t first = apply(op, a.low, b.low, 0);
  Interval all{first, first};
  for (uint32_t corner = 1; corner < 4; ++corner) {
    const int32_t value = apply(op, corner & 1u ? a.high : a.low, corner & 2u ? b.high : b.low, 0);
    all = hull(all, {value, value});
  }
  return all;
}

Interval mod_bounds(Interval a, Interval b) {
  if (is_point(a) && is_point(b)) {
    const int32_t value = apply(Op::kMod, a.low, b.low, 0);
    return {value, value};
  }
  if (a.low >= 0 && a.high < b.low) {
    return a;
  }
  const int32_t largest = b.high - 1;  // b.high is at least 1
  return {0, a.low >= 0 && a.high < largest ? a.high : largest};
}

Interval round_up_bounds(Interval a, Interval b) {
  if (is_point(b)) {
    return corners(Op::kRoundUp, a, b);
  }
  // a <= result < a + b, not above 0 when a is not, and at least one whole b when a is positive.
  const int32_t low = a.low > 0 && b.low > a.low ? b.low : a.low;
  return {low, a.high <= 0 ? 0 : apply(Op::kAdd, a.high, b.high - 1, 0)};
}

// Divisions: the result is 0 for divisors <= 0, and for the others as the op says.
Interval divide_bounds(Op op, Interval a, Interval b) {
  if (b.high <= 0) {
    return {0, 0};
  }
  const bool whole = b.low > 0;
  const Interval positive{whole ? b.low : 1, b.high};
  Interval result;
  if (op == Op::kMod) {
    result = mod_bounds(a, positive);
  } else if (op == Op::kRoundUp) {
    result = round_up_bounds(a, positive);
  } else {
    result = corners(op, a, positive);
  }
  return whole ? result : hull(result, {0, 0});
}

Interval apply_bounds(Op op, Interval a, Interval b, Interval c) {
  const bool a_may = a.low != 0 || a.high != 0;
  const bool b_may = b.low != 0 || b.high != 0;
  switch (op) {
    case Op::kDiv:
    case Op::kCeilDiv:
    case Op::kMod:
    case Op::kRoundUp:
      return divide_bounds(op, a, b);
    case Op::kEqual:
      return truth(!(is_point(a) && is_point(b) && a.low == b.low), a.low <= b.high && b.low <= a.high);
    case Op::kAnd:
      return truth(has_zero(a) || has_zero(b), a_may && b_may);
    case Op::kOr:
      return truth(has_zero(a) && has_zero(b), a_may || b_may);
    case Op::kNot:
      return truth(a_may, has_zero(a));
    case Op::kSelect:
      if (!has_zero(a)) {
        return b;
      }
      return a_may ? hull(b, c) : c;
    default:
      return corners(op, a, b);
  }
}

void evaluate_part(Span<const Instruction> code, const ProgramInputs& inputs, Span<const Interval> knobs, size_t from,
                   size_t to, Interval* values) {
  const int32_t* const input[] = {inputs.constants.data, inputs.dims.data, nullptr, inputs.facts.data};
  for (size_t i = from; i < to; ++i) {
    const Instruction& at = code[i];
    const Op op = static_cast<Op>(at.op);
    if (op == Op::kKnob) {
      values[i] = knobs[at.a];
    } else if (reads_input(op)) {
      const int32_t value = input[at.op][at.a];
      values[i] = {value, value};
    } else {
      values[i] = apply_bounds(op, values[at.a], values[at.b], values[at.c]);
    }
  }
}

}  // namespace

void evaluate_intervals(const Program& program, const ProgramInputs& inputs, Span<const Interval> knobs,
                        Interval* values) {
  evaluate_part(program.code, inputs, knobs, 0, program.code.size, values);
}

bool may_hold(const Program& program, const ProgramInputs& inputs, Span<const Interval> knobs, Interval* values) {
  size_t done = 0;
  for (const uint8_t output : program.outputs) {
    evaluate_part(program.code, inputs, knobs, done, output + size_t{1}, values);
    done = done > output ? done : output + size_t{1};
    if (values[output].low == 0 && values[output].high == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace temper
