#include "runtime/program.h"

namespace temper {
namespace {

int32_t saturated(int64_t value) {
  if (value != static_cast<int32_t>(value)) {
    return value < 0 ? INT32_MIN : INT32_MAX;
  }
  return static_cast<int32_t>(value);
}

// The four divisions, of one floor division.
int32_t divide(Op op, int32_t a, int32_t b) {
  if (b <= 0) {
    return 0;
  }
  int32_t quotient = a / b;
  int32_t rest = a - quotient * b;
  if (rest < 0) {
    --quotient;
    rest += b;
  }
  if (op == Op::kMod) {
    return rest;
  }
  quotient += op != Op::kDiv && rest != 0 ? 1 : 0;
  return op == Op::kRoundUp ? saturated(int64_t{quotient} * b) : quotient;
}

// 256 * log2(1 + 2^-x) at x = 0, 1/4, ..., 9, modulo 256; linear in between is off by at most 1.
constexpr uint32_t kLogAddStep = 64;
constexpr uint8_t kLogAdd[] = {0,  225, 198, 172, 150, 130, 112, 96, 82, 70, 60, 51, 44, 37, 31, 26, 22, 19, 16,
                               13, 11,  10,  8,   7,   6,   5,   4,  3,  3,  2,  2,  2,  1,  1,  1,  1,  0};
constexpr uint32_t kLogAddEnd = kLogAddStep * (sizeof kLogAdd / sizeof *kLogAdd - 1);

int32_t log_add(int32_t a, int32_t b) {
  const int32_t high = a > b ? a : b;
  const uint32_t apart = static_cast<uint32_t>(high) - static_cast<uint32_t>(a > b ? b : a);
  if (apart >= kLogAddEnd) {
    return high;
  }
  const uint8_t* at = kLogAdd + apart / kLogAddStep;
  const uint32_t step = static_cast<uint8_t>(at[0] - at[1]);
  const uint32_t rise = (step * (kLogAddStep - apart % kLogAddStep) + kLogAddStep / 2 - 1) / kLogAddStep;
  return saturated(int64_t{high} + static_cast<int32_t>(at[1] + rise));
}

// The arrays that kConst, kDim, kKnob and kFact read.
struct InputTable {
  explicit InputTable(const ProgramInputs& inputs)
      : of{inputs.constants.data, inputs.dims.data, inputs.knob_values.data, inputs.facts.data} {}
  const int32_t* of[4];
};

}  // namespace

// Every op that computes from values; the four that read inputs are in evaluate.
int32_t apply(Op op, int32_t a, int32_t b, int32_t c) {
  switch (op) {
    case Op::kAdd:
      return saturated(int64_t{a} + b);
    case Op::kSub:
      return saturated(int64_t{a} - b);
    case Op::kMul:
      return saturated(int64_t{a} * b);
    case Op::kDiv:
    case Op::kCeilDiv:
    case Op::kMod:
    case Op::kRoundUp:
      return divide(op, a, b);
    case Op::kMin:
      return a < b ? a : b;
    case Op::kMax:
      return a > b ? a : b;
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kEqual:
      return a == b;
    case Op::kAnd:
      return a != 0 && b != 0;
    case Op::kOr:
      return a != 0 || b != 0;
    case Op::kNot:
      return a == 0;
    case Op::kSelect:
      return a != 0 ? b : c;
    case Op::kLog2:
      return a <= 1 ? 0 : log2_q8(static_cast<uint32_t>(a));
    case Op::kLogAdd:
      return log_add(a, b);
    default:
      return 0;  // not reached: verify_program lets no other op through
  }
}

Status verify_program(const Program& program, size_t constant_count, size_t dim_count, size_t knob_count) {
  if (program.code.size > kMaxInstructions) {
    return TEMPER_BAD_DATA;
  }
  const size_t input_counts[] = {constant_count, dim_count, knob_count, TEMPER_FACT_COUNT};
  for (size_t i = 0; i < program.code.size; ++i) {
    const Instruction& at = program.code[i];
    if (at.op >= static_cast<uint8_t>(Op::kOpCount)) {
      return TEMPER_BAD_DATA;
    }
    const bool sound =
        reads_input(static_cast<Op>(at.op)) ? at.a < input_counts[at.op] : at.a < i && at.b < i && at.c < i;
    if (!sound) {
      return TEMPER_BAD_DATA;
    }
  }
  for (const uint8_t output : program.outputs) {
    if (output >= program.code.size) {
      return TEMPER_BAD_DATA;
    }
  }
  return TEMPER_OK;
}

namespace {

// The instructions [from, to): what is before was evaluated already.
void evaluate_part(Span<const Instruction> code, const ProgramInputs& inputs, size_t from, size_t to, int32_t* values) {
  const InputTable input(inputs);
  for (size_t i = from; i < to; ++i) {
    const Instruction& at = code[i];
    const Op op = static_cast<Op>(at.op);
    values[i] = reads_input(op) ? input.of[at.op][at.a] : apply(op, values[at.a], values[at.b], values[at.c]);
  }
}

}  // namespace

void evaluate(const Program& program, const ProgramInputs& inputs, int32_t* values) {
  evaluate_part(program.code, inputs, 0, program.code.size, values);
}

bool holds(const Program& program, const ProgramInputs& inputs, int32_t* values) {
  size_t done = 0;
  for (const uint8_t output : program.outputs) {
    evaluate_part(program.code, inputs, done, output + size_t{1}, values);
    done = done > output ? done : output + size_t{1};
    if (values[output] == 0) {
      return false;
    }
  }
  return true;
}

int32_t log2_q8(uint64_t value) {
  // Nine bits are all that counts.
  uint32_t whole = 0;
  for (; value >> 32 != 0; value >>= 16) {
    whole += 16;
  }
  const uint32_t rest = static_cast<uint32_t>(value);
  if (rest <= 1) {
    return 0;
  }
  const uint32_t top = 31u - static_cast<uint32_t>(__builtin_clz(rest));
  const uint32_t fraction = (top >= 8 ? rest >> (top - 8) : rest << (8 - top)) & 0xFFu;
  return static_cast<int32_t>((whole + top) * 256u + fraction);
}

}  // namespace temper
