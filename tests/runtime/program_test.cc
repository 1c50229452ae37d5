#include "runtime/program.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/random.h"

namespace temper {
namespace {

// The independent evaluator: 64-bit arithmetic and mathematical definitions, nothing shared with runtime/program.cc.
int64_t clamped(int64_t value) {
  const int64_t high = INT32_MAX, low = INT32_MIN;
  return value > high ? high : value < low ? low : value;
}

int64_t floor_quotient(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  while (quotient * b > a) {
    --quotient;
  }
  while ((quotient + 1) * b <= a) {
    ++quotient;
  }
  return quotient;
}

int32_t log2_by_definition(int64_t value) {
  if (value <= 1) {
    return 0;
  }
  int32_t power = 0;
  while ((int64_t{1} << (power + 1)) <= value) {
    ++power;
  }
  const int64_t base = int64_t{1} << power;
  return power * 256 + static_cast<int32_t>((value - base) * 256 / base);
}

std::vector<int32_t> expected_values(const std::vector<Instruction>& code, const ProgramInputs& in) {
  std::vector<int32_t> values;
  for (const Instruction& at : code) {
    const auto value = [&](uint8_t index) { return static_cast<int64_t>(values[index]); };
    const Op op = static_cast<Op>(at.op);
    int64_t result = 0;
    switch (op) {
      case Op::kConst:
        result = in.constants[at.a];
        break;
      case Op::kDim:
        result = in.dims[at.a];
        break;
      case Op::kKnob:
        result = in.knob_values[at.a];
        break;
      case Op::kFact:
        result = in.facts[at.a];
        break;
      case Op::kAdd:
        result = value(at.a) + value(at.b);
        break;
      case Op::kSub:
        result = value(at.a) - value(at.b);
        break;
      case Op::kMul:
        result = value(at.a) * value(at.b);
        break;
      case Op::kDiv:
        result = value(at.b) <= 0 ? 0 : floor_quotient(value(at.a), value(at.b));
        break;
      case Op::kCeilDiv:
        result = value(at.b) <= 0 ? 0 : -floor_quotient(-value(at.a), value(at.b));
        break;
      case Op::kMod:
        result = value(at.b) <= 0 ? 0 : value(at.a) - floor_quotient(value(at.a), value(at.b)) * value(at.b);
        break;
      case Op::kRoundUp:
        result = value(at.b) <= 0 ? 0 : -floor_quotient(-value(at.a), value(at.b)) * value(at.b);
        break;
      case Op::kMin:
        result = std::min(value(at.a), value(at.b));
        break;
      case Op::kMax:
        result = std::max(value(at.a), value(at.b));
        break;
      case Op::kLess:
        result = value(at.a) < value(at.b) ? 1 : 0;
        break;
      case Op::kLessEqual:
        result = value(at.a) <= value(at.b) ? 1 : 0;
        break;
      case Op::kEqual:
        result = value(at.a) == value(at.b) ? 1 : 0;
        break;
      case Op::kAnd:
        result = value(at.a) != 0 && value(at.b) != 0 ? 1 : 0;
        break;
      case Op::kOr:
        result = value(at.a) != 0 || value(at.b) != 0 ? 1 : 0;
        break;
      case Op::kNot:
        result = value(at.a) == 0 ? 1 : 0;
        break;
      case Op::kSelect:
        result = value(at.a) != 0 ? value(at.b) : value(at.c);
        break;
      case Op::kLog2:
        result = log2_by_definition(values[at.a]);
        break;
      default:
        FAIL("op without a definition");
        break;
    }
    values.push_back(static_cast<int32_t>(clamped(result)));
  }
  return values;
}

constexpr int32_t kEdges[] = {0,
                              1,
                              -1,
                              2,
                              3,
                              7,
                              8,
                              15,
                              16,
                              64,
                              100,
                              -2,
                              -7,
                              -8,
                              255,
                              256,
                              4096,
                              1 << 20,
                              INT32_MAX,
                              INT32_MIN,
                              INT32_MAX - 1,
                              INT32_MIN + 1};

int32_t any_value(Random& random) {
  const uint32_t kind = random.below(4);
  if (kind == 0) {
    return kEdges[random.below(sizeof kEdges / sizeof *kEdges)];
  }
  if (kind == 1) {
    return static_cast<int32_t>(random.next());
  }
  return static_cast<int32_t>(random.below(200)) - 40;
}

struct RandomProgram {
  std::vector<Instruction> code;
  std::vector<uint8_t> outputs;
  std::vector<int32_t> constants, dims, knobs, facts;

  explicit RandomProgram(Random& random, bool with_log_add) {
    for (std::vector<int32_t>* inputs : {&constants, &dims, &knobs, &facts}) {
      const size_t count = inputs == &facts ? size_t{TEMPER_FACT_COUNT} : size_t{1} + random.below(5);
      for (size_t i = 0; i < count; ++i) {
        inputs->push_back(any_value(random));
      }
    }
    const uint32_t length = 4 + random.below(60);
    for (uint32_t i = 0; i < length; ++i) {
      const uint32_t limit = static_cast<uint32_t>(Op::kOpCount) - (with_log_add ? 0u : 1u);
      const uint8_t op = static_cast<uint8_t>(i < 4 ? i : random.below(limit));
      const size_t sizes[] = {constants.size(), dims.size(), knobs.size(), facts.size()};
      const uint32_t bound = op <= static_cast<uint8_t>(Op::kFact) ? static_cast<uint32_t>(sizes[op]) : i;
      const auto operand = [&] { return static_cast<uint8_t>(random.below(bound)); };
      code.push_back({op, operand(), operand(), operand()});
    }
    outputs = {static_cast<uint8_t>(length - 1)};
  }
  Program program() { return {{code.data(), code.size()}, {outputs.data(), outputs.size()}}; }
  ProgramInputs inputs() {
    return {{constants.data(), constants.size()},
            {dims.data(), dims.size()},
            {knobs.data(), knobs.size()},
            {facts.data(), facts.size()}};
  }
};

}  // namespace

TEST_CASE("programs evaluate to what their definitions say, at every value and at the ends of int32") {
  Random random(7);
  for (int round = 0; round < 20000; ++round) {
    RandomProgram p(random, false);
    REQUIRE(verify_program(p.program(), p.constants.size(), p.dims.size(), p.knobs.size()).ok());
    std::vector<int32_t> values(p.code.size());
    evaluate(p.program(), p.inputs(), values.data());
    REQUIRE(values == expected_values(p.code, p.inputs()));
  }
}

TEST_CASE("intervals hold every value that knobs within their bounds can yield") {
  Random random(11);
  for (int round = 0; round < 4000; ++round) {
    RandomProgram p(random, true);
    std::vector<Interval> bounds(p.knobs.size());
    for (Interval& bound : bounds) {
      const int32_t a = any_value(random), b = any_value(random);
      bound = {a < b ? a : b, a < b ? b : a};
    }
    std::vector<Interval> intervals(p.code.size());
    evaluate_intervals(p.program(), p.inputs(), {bounds.data(), bounds.size()}, intervals.data());
    for (int sample = 0; sample < 50; ++sample) {
      for (size_t k = 0; k < bounds.size(); ++k) {
        const int64_t width = int64_t{bounds[k].high} - bounds[k].low + 1;
        const uint32_t where = random.below(4);
        p.knobs[k] = where == 0   ? bounds[k].low
                     : where == 1 ? bounds[k].high
                                  : static_cast<int32_t>(bounds[k].low + int64_t{random.next()} % width);
      }
      std::vector<int32_t> values(p.code.size());
      evaluate(p.program(), p.inputs(), values.data());
      for (size_t i = 0; i < values.size(); ++i) {
        const bool held = intervals[i].low <= values[i] && values[i] <= intervals[i].high;
        if (!held) {
          CAPTURE(round);
          CAPTURE(i);
          CAPTURE(int{p.code[i].op});
          REQUIRE(held);
        }
      }
    }
  }
}

TEST_CASE("intervals of single values are single values, equal to exact evaluation") {
  Random random(13);
  for (int round = 0; round < 5000; ++round) {
    RandomProgram p(random, true);
    std::vector<Interval> bounds;
    for (const int32_t knob : p.knobs) {
      bounds.push_back({knob, knob});
    }
    std::vector<Interval> intervals(p.code.size());
    std::vector<int32_t> values(p.code.size());
    evaluate_intervals(p.program(), p.inputs(), {bounds.data(), bounds.size()}, intervals.data());
    evaluate(p.program(), p.inputs(), values.data());
    for (size_t i = 0; i < values.size(); ++i) {
      REQUIRE(intervals[i].low == values[i]);
      REQUIRE(intervals[i].high == values[i]);
    }
  }
}

TEST_CASE("the logarithm is monotone, exact at powers of two and within 0.09 of the true one") {
  int32_t last = 0;
  for (uint64_t value = 0; value < 100000; ++value) {
    const int32_t log = log2_q8(value);
    REQUIRE(log >= last);
    REQUIRE(log == log2_by_definition(static_cast<int64_t>(value)));
    last = log;
  }
  for (int power = 0; power < 64; ++power) {
    CHECK(log2_q8(uint64_t{1} << power) == power * 256);
    const double value = std::ldexp(1.37, power);
    CHECK(std::abs(log2_q8(static_cast<uint64_t>(value)) / 256.0 - std::log2(std::floor(value))) < 0.09);
  }
  CHECK(log2_q8(UINT64_MAX) == 63 * 256 + 255);
}

namespace {

int32_t log_add(int32_t a, int32_t b) {
  const Instruction code[] = {{0, 0, 0, 0}, {0, 1, 0, 0}, {static_cast<uint8_t>(Op::kLogAdd), 0, 1, 0}};
  const int32_t constants[] = {a, b};
  int32_t values[3];
  evaluate({code, {}}, {constants, {}, {}, {}}, values);
  return values[2];
}

}  // namespace

TEST_CASE("the sum of logarithms is right to one part in 128, monotone and symmetric") {
  int32_t last = 0;
  for (int32_t a = -4000; a <= 4000; ++a) {
    const int32_t sum = log_add(a, 100);
    const double exact = 256 * std::log2(std::exp2(a / 256.0) + std::exp2(100 / 256.0));
    REQUIRE(std::abs(sum - exact) <= 2.0);
    REQUIRE(sum == log_add(100, a));
    REQUIRE((a == -4000 || sum >= last));
    last = sum;
  }
  CHECK(log_add(INT32_MAX, INT32_MIN) == INT32_MAX);
  CHECK(log_add(INT32_MAX, INT32_MAX) == INT32_MAX);
  CHECK(log_add(INT32_MIN, INT32_MIN) == INT32_MIN + 256);
}

TEST_CASE("programs with unknown ops, later operands or indices past their tables are rejected") {
  const uint8_t outputs[] = {1};
  const auto verified = [&](Instruction first, Instruction second, uint8_t output) {
    const Instruction code[] = {first, second};
    const uint8_t out[] = {output};
    return verify_program({code, out}, 2, 3, 4).ok();
  };
  const uint8_t add = static_cast<uint8_t>(Op::kAdd);
  CHECK(verified({0, 1, 0, 0}, {add, 0, 0, 0}, 1));
  CHECK_FALSE(verified({0, 2, 0, 0}, {add, 0, 0, 0}, 1));
  CHECK(verified({1, 2, 0, 0}, {add, 0, 0, 0}, 1));
  CHECK_FALSE(verified({1, 3, 0, 0}, {add, 0, 0, 0}, 1));
  CHECK(verified({2, 3, 0, 0}, {add, 0, 0, 0}, 1));
  CHECK_FALSE(verified({2, 4, 0, 0}, {add, 0, 0, 0}, 1));
  CHECK(verified({3, TEMPER_FACT_COUNT - 1, 0, 0}, {add, 0, 0, 0}, 1));
  CHECK_FALSE(verified({3, TEMPER_FACT_COUNT, 0, 0}, {add, 0, 0, 0}, 1));
  CHECK_FALSE(verified({add, 0, 0, 0}, {add, 0, 0, 0}, 1));
  CHECK_FALSE(verified({0, 0, 0, 0}, {add, 1, 0, 0}, 1));
  CHECK_FALSE(verified({0, 0, 0, 0}, {add, 0, 1, 0}, 1));
  CHECK_FALSE(verified({0, 0, 0, 0}, {add, 0, 0, 1}, 1));
  CHECK_FALSE(verified({0, 0, 0, 0}, {static_cast<uint8_t>(Op::kOpCount), 0, 0, 0}, 1));
  CHECK_FALSE(verified({0, 0, 0, 0}, {add, 0, 0, 0}, 2));
  const std::vector<Instruction> long_code(256, Instruction{0, 0, 0, 0});
  CHECK_FALSE(verify_program({{long_code.data(), 256}, outputs}, 1, 0, 0).ok());
  CHECK(verify_program({{long_code.data(), 255}, outputs}, 1, 0, 0).ok());
}

}  // namespace temper
