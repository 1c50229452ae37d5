#include "codegen/activation.h"

#include "schedules/workload.h"

namespace temper {

using llvm::Value;

ActivationBounds::ActivationBounds(Emitter& emitter, const EpilogueStage& epilogue) : e_(emitter) {
  Value* kind = e_.amount(epilogue.activation);
  Value* given_bits[2] = {e_.amount(epilogue.clip_low), e_.amount(epilogue.clip_high)};
  bounds_any_[0] =
      e_.at_entry([&] { return e_.builder().CreateNot(e_.equal(kind, static_cast<int64_t>(Activation::kNone))); });
  bounds_any_[1] = e_.at_entry([&] { return e_.equal(kind, static_cast<int64_t>(Activation::kClip)); });
  for (int which = 0; which < 2; ++which) {
    bounds_[which] = e_.at_entry([&] {
      llvm::IRBuilder<>& b = e_.builder();
      Value* given = b.CreateBitCast(b.CreateSExtOrTrunc(given_bits[which], b.getInt32Ty()), e_.float_type());
      Value* none = llvm::ConstantFP::getInfinity(e_.float_type(), which == 0);
      Value* relu = which == 0 ? llvm::ConstantFP::get(e_.float_type(), 0.0) : none;
      Value* clips = e_.equal(kind, static_cast<int64_t>(Activation::kClip));
      return e_.select(e_.equal(kind, static_cast<int64_t>(Activation::kRelu)), relu, e_.select(clips, given, none));
    });
  }
}

// Comparisons with NaN fail, so that NaN passes.
Value* ActivationBounds::bounded(Value* value, int which) const {
  llvm::IRBuilder<>& b = e_.builder();
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(bounds_[which]);
  if (constant != nullptr && constant->isInfinity()) {
    return value;
  }
  Value* limit = value->getType()->isVectorTy() ? e_.splat(bounds_[which]) : bounds_[which];
  return b.CreateSelect(which == 0 ? b.CreateFCmpOLT(value, limit) : b.CreateFCmpOGT(value, limit), limit, value);
}

Value* ActivationBounds::apply(Value* value) const { return bounded(bounded(value, 0), 1); }

Values ActivationBounds::apply(Values values) const {
  for (int which = 0; which < 2; ++which) {
    const auto all = [&] {
      Values result;
      for (Value* value : values) {
        result.push_back(bounded(value, which));
      }
      return result;
    };
    values = e_.bare_metal() && values.size() > 2 ? e_.choose(bounds_any_[which], all, [&] { return values; }) : all();
  }
  return values;
}

ActivationBounds ActivationBounds::only_if(Value* condition) const {
  ActivationBounds chosen = *this;
  for (int which = 0; which < 2; ++which) {
    Value* none = llvm::ConstantFP::getInfinity(e_.float_type(), which == 0);
    chosen.bounds_[which] = e_.select(condition, bounds_[which], none);
    chosen.bounds_any_[which] = e_.both(condition, bounds_any_[which]);
  }
  return chosen;
}

}  // namespace temper
