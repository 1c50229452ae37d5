#include "codegen/emitter.h"

#include <algorithm>
#include <bit>

namespace temper {

using llvm::Align;
using llvm::BasicBlock;
using llvm::ConstantInt;
using llvm::PHINode;
using llvm::Type;
using llvm::Value;

Emitter::Emitter(llvm::Module& module, const Target& target, int32_t lanes)
    : context_(module.getContext()),
      module_(module),
      b_(context_),
      target_cpu_(target.cpu),
      target_features_(target.features),
      vector_bits_(std::to_string(target.lanes * 32)),
      masks_(target.masked_stores && lanes > 1),
      always_fused_(target.triple.rfind("x86_64", 0) != 0),
      bare_metal_(target.triple.find("-none-") != std::string::npos),
      strided_reach_(target.triple.rfind("x86_64", 0) == 0 ? 3 : 1),
      lanes_(lanes),
      integer_(module.getDataLayout().getIntPtrType(context_)),
      float_(Type::getFloatTy(context_)),
      vector_(lanes > 1 ? static_cast<Type*>(llvm::FixedVectorType::get(float_, static_cast<unsigned>(lanes)))
                        : float_) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  b_.setFastMathFlags(flags);
}

void Emitter::begin_kernel(const std::string& symbol) {
  Type* pointer = llvm::PointerType::get(context_, 0);
  Type* word = Type::getInt32Ty(context_);
  auto* type = llvm::FunctionType::get(
      Type::getVoidTy(context_), {pointer, pointer, pointer, pointer, pointer, pointer, pointer, word, word}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
  function_->setDoesNotThrow();
  function_->addFnAttr("no-builtins");
  if (bare_metal_) {
    function_->addFnAttr(llvm::Attribute::OptimizeForSize);
  }
  function_->addFnAttr("target-cpu", target_cpu_);
  function_->addFnAttr("target-features", target_features_);
  function_->addFnAttr("prefer-vector-width", vector_bits_);
  function_->addFnAttr("min-legal-vector-width", vector_bits_);
  for (unsigned i : {0U, 1U, 2U, 3U, 4U, 5U, 6U}) {
    function_->addParamAttr(i, llvm::Attribute::NoAlias);
  }
  entry_ = block("entry");
  body_ = block("body");
  b_.SetInsertPoint(body_);
  arguments_.clear();
  quotients_.clear();
  chunks_.clear();
}

void Emitter::finish_kernel() {
  b_.CreateRetVoid();
  b_.SetInsertPoint(entry_);
  b_.CreateBr(body_);
}

BasicBlock* Emitter::block(const char* name) { return BasicBlock::Create(context_, name, function_); }

Value* Emitter::at_entry(const std::function<Value*()>& emit) {
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_);
  return emit();
}

Value* Emitter::begin_item() {
  return at_entry([&] { return b_.CreateSExtOrTrunc(function_->getArg(7), integer_); });
}

Value* Emitter::end_item() {
  return at_entry([&] { return b_.CreateSExtOrTrunc(function_->getArg(8), integer_); });
}

Value* Emitter::argument(int32_t index) {
  Value*& value = arguments_[index];
  if (value == nullptr) {
    value = at_entry([&] {
      Type* word = b_.getInt32Ty();
      Value* place = b_.CreateConstInBoundsGEP1_32(word, function_->getArg(6), static_cast<unsigned>(index));
      return b_.CreateSExtOrTrunc(b_.CreateAlignedLoad(word, place, Align(4)), integer_);
    });
  }
  return value;
}

Value* Emitter::amount(const Amount& amount) {
  if (amount.kind == Amount::Kind::kConstant) {
    return integer(amount.value);
  }
  if (amount.kind == Amount::Kind::kArgument) {
    return argument(amount.value);
  }
  Value*& value = quotients_[{amount.value, amount.divisor}];
  if (value == nullptr) {
    Value *a = argument(amount.value), *b = argument(amount.divisor);
    value = at_entry([&] { return div(a, b); });
  }
  return value;
}

Value* Emitter::chunk(const Chunk& chunk, const Amount& extent) {
  Value*& value = chunks_[{static_cast<int>(chunk.amount.kind), chunk.amount.value, chunk.amount.divisor,
                           chunk.multiple, static_cast<int>(extent.kind), extent.value, extent.divisor}];
  if (value == nullptr) {
    Value *size = amount(chunk.amount), *whole = amount(extent);
    value = at_entry([&] {
      return chunk.amount == extent && chunk.multiple == 1
                 ? size
                 : minimum(round_up(size, chunk.multiple), round_up(whole, chunk.multiple));
    });
  }
  return value;
}

Value* Emitter::integer(int64_t value) { return ConstantInt::getSigned(integer_, value); }

bool Emitter::known(Value* value, int64_t* number) {
  const auto* constant = llvm::dyn_cast<ConstantInt>(value);
  if (constant != nullptr && number != nullptr) {
    *number = constant->getSExtValue();
  }
  return constant != nullptr;
}

bool Emitter::is(Value* value, int64_t number) {
  int64_t found = 0;
  return known(value, &found) && found == number;
}

Value* Emitter::add(Value* a, Value* b) { return is(a, 0) ? b : is(b, 0) ? a : b_.CreateNSWAdd(a, b); }

Value* Emitter::sub(Value* a, Value* b) { return is(b, 0) ? a : b_.CreateNSWSub(a, b); }

Value* Emitter::mul(Value* a, Value* b) {
  if (is(a, 0) || is(b, 1)) {
    return a;
  }
  return is(b, 0) || is(a, 1) ? b : b_.CreateNSWMul(a, b);
}

// Numbers of a kernel fit 31 bits, and a 32-bit division is several times faster than a 64-bit one.
Value* Emitter::div(Value* a, Value* b) {
  if (is(b, 1)) {
    return a;
  }
  Type* word = b_.getInt32Ty();
  return b_.CreateZExtOrTrunc(b_.CreateUDiv(b_.CreateZExtOrTrunc(a, word), b_.CreateZExtOrTrunc(b, word)), integer_);
}

Value* Emitter::mod(Value* a, Value* b) {
  if (is(b, 1)) {
    return integer(0);
  }
  Type* word = b_.getInt32Ty();
  return b_.CreateZExtOrTrunc(b_.CreateURem(b_.CreateZExtOrTrunc(a, word), b_.CreateZExtOrTrunc(b, word)), integer_);
}

Value* Emitter::ceil_div(Value* a, Value* b) { return div(add(a, sub(b, integer(1))), b); }

Value* Emitter::round_up(Value* a, int64_t multiple) {
  return multiple == 1 ? a : mul(ceil_div(a, integer(multiple)), integer(multiple));
}

Value* Emitter::less(Value* a, Value* b) { return b_.CreateICmpSLT(a, b); }

Value* Emitter::equal(Value* a, int64_t number) {
  return b_.CreateICmpEQ(a, ConstantInt::getSigned(a->getType(), number));
}

Value* Emitter::select(Value* condition, Value* yes, Value* no) {
  int64_t number = 0;
  if (known(condition, &number)) {
    return number != 0 ? yes : no;
  }
  return yes == no ? yes : b_.CreateSelect(condition, yes, no);
}

Value* Emitter::both(Value* a, Value* b) {
  int64_t number = 0;
  if (known(a, &number)) {
    return number != 0 ? b : a;
  }
  return known(b, &number) ? (number != 0 ? a : b) : b_.CreateAnd(a, b);
}

Value* Emitter::minimum(Value* a, Value* b) { return a == b ? a : b_.CreateSelect(less(b, a), b, a); }

Value* Emitter::maximum(Value* a, Value* b) { return a == b ? a : b_.CreateSelect(less(a, b), b, a); }

Values Emitter::loop(Value* low, Value* high, Value* step, const Values& carried,
                     const std::function<Values(Value*, const Values&)>& body) {
  Value* guard = less(low, high);
  const bool sure = known(guard);
  if (sure && is(guard, 0)) {
    return carried;
  }
  int64_t first = 0, end = 0, stride = 0;
  const bool steps_known = known(step, &stride) && stride > 0;
  if ((known(low, &first) && known(high, &end) && steps_known && first + stride >= end) ||
      (first == 0 && step == high && is(low, 0) && sure)) {
    return body(low, carried);
  }
  BasicBlock *before = b_.GetInsertBlock(), *inside = block("loop"), *after = block("after");
  if (sure) {
    b_.CreateBr(inside);
  } else {
    b_.CreateCondBr(guard, inside, after);
  }
  b_.SetInsertPoint(inside);
  PHINode* index = b_.CreatePHI(integer_, 2);
  index->addIncoming(low, before);
  std::vector<PHINode*> nodes;
  Values current;
  for (Value* value : carried) {
    PHINode* node = b_.CreatePHI(value->getType(), 2);
    node->addIncoming(value, before);
    nodes.push_back(node);
    current.push_back(node);
  }
  const Values next = body(index, current);
  Value* following = add(index, step);
  BasicBlock* latch = b_.GetInsertBlock();
  b_.CreateCondBr(less(following, high), inside, after);
  index->addIncoming(following, latch);
  b_.SetInsertPoint(after);
  Values results;
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i]->addIncoming(next[i], latch);
    PHINode* result = b_.CreatePHI(next[i]->getType(), 2);
    result->addIncoming(next[i], latch);
    if (!sure) {
      result->addIncoming(carried[i], before);
    }
    results.push_back(result);
  }
  return results;
}

void Emitter::loop(Value* low, Value* high, Value* step, const std::function<void(Value*)>& body) {
  loop(low, high, step, {}, [&](Value* index, const Values&) {
    body(index);
    return Values{};
  });
}

Values Emitter::choose(Value* condition, const std::function<Values()>& yes, const std::function<Values()>& no) {
  if (const auto* constant = llvm::dyn_cast<ConstantInt>(condition)) {
    return constant->isZero() ? no() : yes();
  }
  BasicBlock *then = block("then"), *otherwise = block("else"), *after = block("after");
  b_.CreateCondBr(condition, then, otherwise);
  b_.SetInsertPoint(then);
  const Values a = yes();
  BasicBlock* then_end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(otherwise);
  const Values b = no();
  BasicBlock* otherwise_end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  Values results;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) {
      results.push_back(a[i]);
      continue;
    }
    PHINode* node = b_.CreatePHI(a[i]->getType(), 2);
    node->addIncoming(a[i], then_end);
    node->addIncoming(b[i], otherwise_end);
    results.push_back(node);
  }
  return results;
}

void Emitter::when(Value* condition, const std::function<void()>& yes, const std::function<void()>& no) {
  choose(
      condition,
      [&] {
        yes();
        return Values{};
      },
      [&] {
        no();
        return Values{};
      });
}

Value* Emitter::offset(Value* pointer, Value* elements) {
  return is(elements, 0) ? pointer : b_.CreateGEP(float_, pointer, elements);
}

Value* Emitter::load(Value* pointer) { return b_.CreateAlignedLoad(float_, pointer, Align(4)); }

void Emitter::store(Value* value, Value* pointer) { b_.CreateAlignedStore(value, pointer, Align(4)); }

Value* Emitter::load_vector(Value* pointer, Value* mask) {
  return mask == nullptr ? static_cast<Value*>(b_.CreateAlignedLoad(vector_, pointer, Align(4)))
                         : b_.CreateMaskedLoad(vector_, pointer, Align(4), mask, zero());
}

void Emitter::store_vector(Value* value, Value* pointer, Value* mask) {
  if (mask == nullptr) {
    b_.CreateAlignedStore(value, pointer, Align(4));
  } else {
    b_.CreateMaskedStore(value, pointer, Align(4), mask);
  }
}

Value* Emitter::splat(Value* scalar) {
  return lanes_ == 1 ? scalar : b_.CreateVectorSplat(static_cast<unsigned>(lanes_), scalar);
}

Value* Emitter::zero() { return llvm::Constant::getNullValue(vector_); }

Value* Emitter::fma(Value* a, Value* b, Value* c) {
  // x86 without FMA has no instruction; elsewhere the fused one is legal, but not all of LLVM's cores choose it by
  // themselves (NEON of Armv7-A, Cortex-M4).
  const llvm::Intrinsic::ID id = always_fused_ ? llvm::Intrinsic::fma : llvm::Intrinsic::fmuladd;
  return b_.CreateIntrinsic(id, {c->getType()}, {a, b, c});
}

Value* Emitter::lane_numbers(int32_t first) {
  std::vector<llvm::Constant*> numbers;
  for (int32_t lane = 0; lane < lanes_; ++lane) {
    numbers.push_back(b_.getInt32(static_cast<uint32_t>(first + lane)));
  }
  return lanes_ == 1 ? static_cast<Value*>(numbers.front()) : llvm::ConstantVector::get(numbers);
}

Value* Emitter::lane_mask(Value* left, int32_t index) {
  Value* word = b_.CreateSExtOrTrunc(left, b_.getInt32Ty());
  return b_.CreateICmpSLT(lane_numbers(index * lanes_), splat(word));
}

Value* Emitter::stack(int64_t elements) {
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_, entry_->begin());
  llvm::AllocaInst* place = b_.CreateAlloca(llvm::ArrayType::get(float_, static_cast<uint64_t>(elements)));
  place->setAlignment(Align(16));
  return place;
}

Value* Emitter::zeros(int64_t elements) {
  Value* place = stack(elements);
  at_entry([&] {
    for (int64_t at = 0; at < elements; at += lanes_) {
      store_vector(zero(), offset(place, at));
    }
    return place;
  });
  return place;
}

void Emitter::copy_run(Value* to, Value* from, Value* count) {
  const auto part = [&](Value* at, Value* mask) {
    store_vector(from == nullptr ? zero() : load_vector(offset(from, at), mask), offset(to, at), mask);
  };
  int64_t number = 0;
  Value* whole = known(count, &number) ? integer(number / lanes_ * lanes_) : sub(count, mod(count, integer(lanes_)));
  loop(integer(0), whole, integer(lanes_), [&](Value* at) { part(at, nullptr); });
  if (lanes_ == 1) {
    return;
  }
  if (masks_) {
    when(less(whole, count), [&] { part(whole, lane_mask(sub(count, whole), 0)); });
    return;
  }
  loop(whole, count, integer(1), [&](Value* at) {
    store(from == nullptr ? llvm::ConstantFP::get(float_, 0.0) : load(offset(from, at)), offset(to, at));
  });
}

}  // namespace temper
