// A kernel pack in this process, tuned through the C API as a board tunes it: each workload by itself, no history.
// Benchmarks only.
#pragma once

#include <memory>
#include <vector>

#include "codegen/kernel_compiler.h"
#include "schedules/network.h"
#include "schedules/spaces.h"
#include "temper/temper.h"

namespace temper::perf {

class TunedPack {
 public:
  /// Compiles the variants for the target, which this machine must be able to run. Their kernel indices are set here.
  static Result<std::unique_ptr<TunedPack>> create(const std::string& target, std::vector<PackVariant> variants);
  ~TunedPack();

  /// The knob values of the best config that so many trials find, and the kernel that serves them.
  struct Winner {
    std::vector<int32_t> values;
    temper_kernel kernel;
    uint32_t trials;  ///< fewer where the space holds no more
  };
  Result<Winner> tune(const NetworkWorkload& workload, const temper_facts& facts, const temper_port& port,
                      uint32_t trials, double seconds) const;

  /// Whether a variant serves a config of these values, compile knobs first.
  bool holds(TemplateId id, const std::vector<int32_t>& values) const;
  size_t variant_count() const;
  uint32_t code_bytes() const;  ///< of all variants, with their constants

 private:
  struct State;
  explicit TunedPack(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace temper::perf
