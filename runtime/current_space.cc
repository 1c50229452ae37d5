#include "runtime/current_space.h"

#include <new>

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

}  // namespace temper
