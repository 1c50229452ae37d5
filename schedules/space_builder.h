// A small language for the integer programs of a space: Expr values with operators that record SSA instructions,
// sharing common subexpressions and folding constants. Used by the template's space files at host start; never on a
// device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/program.h"
#include "schedules/result.h"

namespace temper {

/// One program as it goes into a pack.
struct ProgramData {
  std::vector<Instruction> code;
  std::vector<uint8_t> outputs;

  Program view() const { return {{code.data(), code.size()}, {outputs.data(), outputs.size()}}; }
};

/// The constants that all programs of a template share.
class ConstantPool {
 public:
  /// Index of the value, added when new. More than 256 are refused by ProgramBuilder::finish.
  uint32_t index_of(int32_t value);
  const std::vector<int32_t>& values() const { return values_; }

 private:
  std::vector<int32_t> values_;
};

class ProgramBuilder;

/// A value of the program under construction. Copies are free; all operands of an operator must be of the same builder.
struct Expr {
  ProgramBuilder* builder = nullptr;
  uint32_t node = 0;
};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(ConstantPool* pool) : pool_(pool) {}
  ProgramBuilder(const ProgramBuilder&) = delete;

  Expr constant(int32_t value);
  Expr dim(uint32_t index) { return leaf(Op::kDim, index); }
  Expr knob(uint32_t index) { return leaf(Op::kKnob, index); }
  Expr fact(uint32_t index) { return leaf(Op::kFact, index); }
  /// Records (or finds) an instruction; folds it when all operands are constants.
  Expr apply(Op op, Expr a, Expr b, Expr c);

  /// The instructions that the outputs need. Fails when there are more than the evaluator's limit.
  Result<ProgramData> finish(const std::vector<Expr>& outputs) const;

 private:
  struct Node {
    Op op;
    uint32_t a, b, c;  ///< earlier nodes; of a leaf, a is its index, of a constant its value's bits
  };
  Expr leaf(Op op, uint32_t index);
  Expr add(const Node& node);

  ConstantPool* pool_;
  std::vector<Node> nodes_;
  std::map<std::tuple<Op, uint32_t, uint32_t, uint32_t>, uint32_t> known_;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator%(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr operator!(Expr a);
Expr ceil_div(Expr a, Expr b);
Expr round_up(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr select(Expr condition, Expr then, Expr otherwise);
Expr log2(Expr a);             ///< Q8
Expr log_add(Expr a, Expr b);  ///< log2(2^a + 2^b), Q8

/// The same with an integer on the right.
Expr operator+(Expr a, int32_t b);
Expr operator-(Expr a, int32_t b);
Expr operator*(Expr a, int32_t b);
Expr operator/(Expr a, int32_t b);
Expr operator<(Expr a, int32_t b);
Expr operator<=(Expr a, int32_t b);
Expr operator>(Expr a, int32_t b);
Expr operator>=(Expr a, int32_t b);
Expr operator==(Expr a, int32_t b);
Expr operator!=(Expr a, int32_t b);
Expr min(Expr a, int32_t b);
Expr max(Expr a, int32_t b);
Expr select(Expr condition, int32_t then, int32_t otherwise);
Expr select(Expr condition, Expr then, int32_t otherwise);
Expr select(Expr condition, int32_t then, Expr otherwise);

}  // namespace temper
