// The one Space that a device holds: of the workload that is asked for or worked on now. Made anew when another is
// selected, so that RAM does not grow with the number of workloads. Called by look-ups, the tuner and the runner.
#pragma once

#include "runtime/space.h"

namespace temper {

class CurrentSpace {
 public:
  CurrentSpace() {}
  /// All outlive it.
  CurrentSpace(const PackView* pack, const temper_facts* facts, Scratch scratch)
      : pack_(pack), facts_(facts), scratch_(scratch) {}
  /// The same with a search for defaults that the pack does not tell.
  CurrentSpace(const PackView* pack, const temper_facts* facts, Scratch scratch,
               const temper_default_functions* defaults)
      : pack_(pack), facts_(facts), scratch_(scratch), defaults_(defaults) {}

  const PackView& pack() const { return *pack_; }
  /// The Space of this workload, always at the same address; valid until another is selected.
  const Space& select(uint32_t workload);
  /// Selects the workload and tells its default. TEMPER_NOT_FOUND when the pack tells none that is legal here, and no
  /// search finds one.
  Status find_default(uint32_t workload, Config* out);
  /// The plan of a config of the selected workload. TEMPER_NOT_FOUND: no variant serves it, or the pack holds no code
  /// of it; else as make_plan.
  Status plan(const Config& config, temper_plan* out) const;

 private:
  const PackView* pack_ = nullptr;
  const temper_facts* facts_ = nullptr;
  Scratch scratch_;
  const temper_default_functions* defaults_ = nullptr;
  uint32_t workload_ = UINT32_MAX;
  union {  // made where a workload is selected
    Space space_;
  };
};

}  // namespace temper

/// What config.defaults points to.
struct temper_default_functions {
  temper::Status (*find)(const temper::Space& space, temper::Config* out);
};
