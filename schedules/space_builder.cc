#include "schedules/space_builder.h"

#include <algorithm>
#include <bit>

namespace temper {
namespace {

bool is_leaf(Op op) { return op == Op::kConst || op == Op::kDim || op == Op::kKnob || op == Op::kFact; }

uint32_t operand_count(Op op) {
  if (is_leaf(op)) {
    return 0;
  }
  if (op == Op::kNot || op == Op::kLog2) {
    return 1;
  }
  return op == Op::kSelect ? 3 : 2;
}

/// The value of op over constants, by the device's own evaluator, so that folding never changes a result.
int32_t folded(Op op, int32_t a, int32_t b, int32_t c) {
  const int32_t constants[] = {a, b, c};
  const uint8_t load = static_cast<uint8_t>(Op::kConst);
  const Instruction code[] = {{load, 0, 0, 0}, {load, 1, 0, 0}, {load, 2, 0, 0}, {static_cast<uint8_t>(op), 0, 1, 2}};
  const uint8_t outputs[] = {3};
  int32_t values[4];
  evaluate({Span<const Instruction>(code), Span<const uint8_t>(outputs)}, {Span<const int32_t>(constants), {}, {}, {}},
           values);
  return values[3];
}

}  // namespace

uint32_t ConstantPool::index_of(int32_t value) {
  const auto found = std::find(values_.begin(), values_.end(), value);
  const uint32_t index = static_cast<uint32_t>(found - values_.begin());
  if (found == values_.end()) {
    values_.push_back(value);
  }
  return index;
}

Expr ProgramBuilder::add(const Node& node) {
  const auto [entry, is_new] =
      known_.try_emplace({node.op, node.a, node.b, node.c}, static_cast<uint32_t>(nodes_.size()));
  if (is_new) {
    nodes_.push_back(node);
  }
  return {this, entry->second};
}

Expr ProgramBuilder::leaf(Op op, uint32_t index) { return add({op, index, 0, 0}); }

Expr ProgramBuilder::constant(int32_t value) { return add({Op::kConst, std::bit_cast<uint32_t>(value), 0, 0}); }

Expr ProgramBuilder::apply(Op op, Expr a, Expr b, Expr c) {
  const uint32_t operands[] = {a.node, b.node, c.node};
  int32_t values[3] = {};
  bool all_constant = true;
  for (uint32_t i = 0; i < operand_count(op); ++i) {
    const Node& node = nodes_[operands[i]];
    all_constant = all_constant && node.op == Op::kConst;
    values[i] = std::bit_cast<int32_t>(node.a);
  }
  if (all_constant) {
    return constant(folded(op, values[0], values[1], values[2]));
  }
  const bool by_one = operand_count(op) == 2 && nodes_[b.node].op == Op::kConst && values[1] == 1;
  const bool by_zero = operand_count(op) == 2 && nodes_[b.node].op == Op::kConst && values[1] == 0;
  if ((by_one && (op == Op::kMul || op == Op::kDiv || op == Op::kCeilDiv || op == Op::kRoundUp)) ||
      (by_zero && (op == Op::kAdd || op == Op::kSub))) {
    return a;
  }
  const uint32_t used = operand_count(op);
  return add({op, a.node, used > 1 ? b.node : 0, used > 2 ? c.node : 0});
}

Result<ProgramData> ProgramBuilder::finish(const std::vector<Expr>& outputs) const {
  std::vector<bool> needed(nodes_.size(), false);
  for (const Expr& output : outputs) {
    needed[output.node] = true;
  }
  for (size_t i = nodes_.size(); i-- > 0;) {
    const uint32_t operands[] = {nodes_[i].a, nodes_[i].b, nodes_[i].c};
    for (uint32_t j = 0; needed[i] && j < operand_count(nodes_[i].op); ++j) {
      needed[operands[j]] = true;
    }
  }
  const size_t count = static_cast<size_t>(std::count(needed.begin(), needed.end(), true));
  if (count > kMaxInstructions) {
    return Error{TEMPER_UNSUPPORTED, "a program needs " + std::to_string(count) + " instructions, limit " +
                                         std::to_string(kMaxInstructions)};
  }
  ProgramData data;
  std::vector<uint8_t> place(nodes_.size(), 0);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!needed[i]) {
      continue;
    }
    const Node& node = nodes_[i];
    Instruction instruction{static_cast<uint8_t>(node.op), 0, 0, 0};
    if (is_leaf(node.op)) {
      const uint32_t index = node.op == Op::kConst ? pool_->index_of(std::bit_cast<int32_t>(node.a)) : node.a;
      if (index > 255) {
        return Error{TEMPER_UNSUPPORTED, "a template needs more than 256 constants"};
      }
      instruction.a = static_cast<uint8_t>(index);
    } else {
      const uint32_t operands = operand_count(node.op);
      instruction.a = place[node.a];
      instruction.b = operands > 1 ? place[node.b] : uint8_t{0};
      instruction.c = operands > 2 ? place[node.c] : uint8_t{0};
    }
    place[i] = static_cast<uint8_t>(data.code.size());
    data.code.push_back(instruction);
  }
  for (const Expr& output : outputs) {
    data.outputs.push_back(place[output.node]);
  }
  return data;
}

namespace {
Expr two(Op op, Expr a, Expr b) { return a.builder->apply(op, a, b, a); }
Expr literal(Expr beside, int32_t value) { return beside.builder->constant(value); }
}  // namespace

Expr operator+(Expr a, Expr b) { return two(Op::kAdd, a, b); }
Expr operator-(Expr a, Expr b) { return two(Op::kSub, a, b); }
Expr operator*(Expr a, Expr b) { return two(Op::kMul, a, b); }
Expr operator/(Expr a, Expr b) { return two(Op::kDiv, a, b); }
Expr operator%(Expr a, Expr b) { return two(Op::kMod, a, b); }
Expr operator<(Expr a, Expr b) { return two(Op::kLess, a, b); }
Expr operator<=(Expr a, Expr b) { return two(Op::kLessEqual, a, b); }
Expr operator>(Expr a, Expr b) { return two(Op::kLess, b, a); }
Expr operator>=(Expr a, Expr b) { return two(Op::kLessEqual, b, a); }
Expr operator==(Expr a, Expr b) { return two(Op::kEqual, a, b); }
Expr operator!=(Expr a, Expr b) { return !(a == b); }
Expr operator&&(Expr a, Expr b) { return two(Op::kAnd, a, b); }
Expr operator||(Expr a, Expr b) { return two(Op::kOr, a, b); }
Expr operator!(Expr a) { return a.builder->apply(Op::kNot, a, a, a); }
Expr ceil_div(Expr a, Expr b) { return two(Op::kCeilDiv, a, b); }
Expr round_up(Expr a, Expr b) { return two(Op::kRoundUp, a, b); }
Expr min(Expr a, Expr b) { return two(Op::kMin, a, b); }
Expr max(Expr a, Expr b) { return two(Op::kMax, a, b); }
Expr select(Expr condition, Expr then, Expr otherwise) {
  return condition.builder->apply(Op::kSelect, condition, then, otherwise);
}
Expr log2(Expr a) { return a.builder->apply(Op::kLog2, a, a, a); }
Expr log_add(Expr a, Expr b) { return two(Op::kLogAdd, a, b); }

Expr operator+(Expr a, int32_t b) { return a + literal(a, b); }
Expr operator-(Expr a, int32_t b) { return a - literal(a, b); }
Expr operator*(Expr a, int32_t b) { return a * literal(a, b); }
Expr operator/(Expr a, int32_t b) { return a / literal(a, b); }
Expr operator<(Expr a, int32_t b) { return a < literal(a, b); }
Expr operator<=(Expr a, int32_t b) { return a <= literal(a, b); }
Expr operator>(Expr a, int32_t b) { return a > literal(a, b); }
Expr operator>=(Expr a, int32_t b) { return a >= literal(a, b); }
Expr operator==(Expr a, int32_t b) { return a == literal(a, b); }
Expr operator!=(Expr a, int32_t b) { return a != literal(a, b); }
Expr min(Expr a, int32_t b) { return min(a, literal(a, b)); }
Expr max(Expr a, int32_t b) { return max(a, literal(a, b)); }
Expr select(Expr condition, int32_t then, int32_t otherwise) {
  return select(condition, literal(condition, then), literal(condition, otherwise));
}
Expr select(Expr condition, Expr then, int32_t otherwise) {
  return select(condition, then, literal(condition, otherwise));
}
Expr select(Expr condition, int32_t then, Expr otherwise) {
  return select(condition, literal(condition, then), otherwise);
}

}  // namespace temper
