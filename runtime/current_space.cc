#include "runtime/current_space.h"

#include <new>

#include "runtime/plan.h"

namespace temper {

const Space& CurrentSpace::select(uint32_t workload) {
  if (workload != workload_) {
    workload_ = workload;
    new (&space_) Space(pack_, workload, facts_, scratch_);  // in place: a temporary weighs stack
  }
  return space_;
}

Status CurrentSpace::find_default(uint32_t workload, Config* out) {
  const Space& space = select(workload);
  const Status told = space.nominal_default(out);
  return told.ok() || defaults_ == nullptr ? told : defaults_->find(space, out);
}

Status CurrentSpace::plan(const Config& config, temper_plan* out) const {
  const int32_t variant = space_.find_variant(config);
  const temper_kernel kernel =
      variant < 0 ? nullptr : pack_->kernel(pack_->variant(static_cast<uint32_t>(variant)).kernel);
  return kernel == nullptr ? Status(TEMPER_NOT_FOUND) : make_plan(space_, config, kernel, out);
}

}  // namespace temper
