// IRBuilder with the few shapes that kernels are made of: native integers that fold, loops with carried values, vectors
// with tails. Private to codegen; used by the lowerings. Knows no template.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/target.h"
#include "schedules/loop_nest.h"

namespace temper {

using Values = std::vector<llvm::Value*>;

class Emitter {
 public:
  Emitter(llvm::Module& module, const Target& target, int32_t lanes);

  /// Opens a temper_kernel; parameters by the accessors below. finish_kernel closes it.
  void begin_kernel(const std::string& symbol);
  void finish_kernel();
  llvm::Value* tensor(temper_tensor tensor) { return function_->getArg(static_cast<unsigned>(tensor)); }
  llvm::Value* workspace() { return function_->getArg(TEMPER_TENSOR_COUNT); }
  llvm::Value* begin_item();
  llvm::Value* end_item();

  /// An argument of the kernel, loaded and sign-extended once, at the entry.
  llvm::Value* argument(int32_t index);
  llvm::Value* amount(const Amount& amount);
  /// Elements of a chunk of an axis of this extent, computed once, at the entry.
  llvm::Value* chunk(const Chunk& chunk, const Amount& extent);
  /// Runs `emit` with the builder in the entry block, which every other block follows.
  llvm::Value* at_entry(const std::function<llvm::Value*()>& emit);

  // Native signed integers; constants fold.
  llvm::Value* integer(int64_t value);
  static bool known(llvm::Value* value, int64_t* number = nullptr);
  static bool is(llvm::Value* value, int64_t number);
  llvm::Value* add(llvm::Value* a, llvm::Value* b);
  llvm::Value* sub(llvm::Value* a, llvm::Value* b);
  llvm::Value* mul(llvm::Value* a, llvm::Value* b);
  /// Of non-negative numbers.
  llvm::Value* div(llvm::Value* a, llvm::Value* b);
  llvm::Value* mod(llvm::Value* a, llvm::Value* b);
  llvm::Value* ceil_div(llvm::Value* a, llvm::Value* b);
  llvm::Value* round_up(llvm::Value* a, int64_t multiple);
  llvm::Value* minimum(llvm::Value* a, llvm::Value* b);
  llvm::Value* maximum(llvm::Value* a, llvm::Value* b);
  llvm::Value* less(llvm::Value* a, llvm::Value* b);
  llvm::Value* equal(llvm::Value* a, int64_t number);
  /// Of any type; a known condition or equal values fold.
  llvm::Value* select(llvm::Value* condition, llvm::Value* yes, llvm::Value* no);
  /// a and b, of conditions.
  llvm::Value* both(llvm::Value* a, llvm::Value* b);

  /// for (i = low; i < high; i += step) carried = body(i, carried). Folds where the trip count is known to be 0 or 1.
  Values loop(llvm::Value* low, llvm::Value* high, llvm::Value* step, const Values& carried,
              const std::function<Values(llvm::Value*, const Values&)>& body);
  void loop(llvm::Value* low, llvm::Value* high, llvm::Value* step, const std::function<void(llvm::Value*)>& body);
  Values choose(llvm::Value* condition, const std::function<Values()>& yes, const std::function<Values()>& no);
  void when(
      llvm::Value* condition, const std::function<void()>& yes, const std::function<void()>& no = [] {});

  // f32 memory; offsets in elements.
  llvm::Value* offset(llvm::Value* pointer, llvm::Value* elements);
  llvm::Value* offset(llvm::Value* pointer, int64_t elements) { return offset(pointer, integer(elements)); }
  llvm::Value* load(llvm::Value* pointer);
  void store(llvm::Value* value, llvm::Value* pointer);
  /// A vector of lanes(); masked-off lanes read as 0 and are not touched. mask null: all lanes.
  llvm::Value* load_vector(llvm::Value* pointer, llvm::Value* mask = nullptr);
  void store_vector(llvm::Value* value, llvm::Value* pointer, llvm::Value* mask = nullptr);
  llvm::Value* splat(llvm::Value* scalar);
  llvm::Value* zero();
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  /// Of vector `index` in a row of vectors: the lanes before `left` elements.
  llvm::Value* lane_mask(llvm::Value* left, int32_t index);
  /// 0, 1, 2... as i32 lanes.
  llvm::Value* lane_numbers(int32_t first = 0);
  llvm::Value* stack(int64_t elements);
  /// So many zeros, a multiple of lanes(), on the stack; filled once, at the entry.
  llvm::Value* zeros(int64_t elements);

  /// Copies, or with a null source zeroes, count elements; by vectors, never past the end of either side.
  void copy_run(llvm::Value* to, llvm::Value* from, llvm::Value* count);

  /// Rows an unknown distance apart that one pointer reaches for free: p, p + s, p + 2 s on x86; elsewhere one.
  size_t strided_reach() const { return strided_reach_; }
  /// A microcontroller: address arithmetic costs as much as arithmetic, and flash is small.
  bool bare_metal() const { return bare_metal_; }
  bool masks() const { return masks_; }
  int32_t lanes() const { return lanes_; }
  llvm::Type* vector_type() const { return vector_; }
  llvm::Type* float_type() const { return float_; }
  llvm::Type* integer_type() const { return integer_; }
  llvm::IRBuilder<>& builder() { return b_; }
  llvm::BasicBlock* block(const char* name);

 private:
  llvm::LLVMContext& context_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  std::string target_cpu_, target_features_, vector_bits_;
  bool masks_, always_fused_, bare_metal_;
  size_t strided_reach_;
  int32_t lanes_;
  llvm::Type *integer_, *float_, *vector_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *body_ = nullptr;
  std::map<int32_t, llvm::Value*> arguments_;
  std::map<std::pair<int32_t, int32_t>, llvm::Value*> quotients_;
  std::map<std::tuple<int, int32_t, int32_t, int32_t, int, int32_t, int32_t>, llvm::Value*> chunks_;
};

}  // namespace temper
