// Targets: the instruction set, float ABI and core that code is made for. One line per target in target.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/result.h"
#include "temper/kernel.h"

namespace temper {

struct Target {
  std::string name;  ///< "x86_64-linux", "cortex-m4", ...; "native" resolves to the host with its CPU's features
  std::string triple, cpu, features;
  uint16_t lanes;  ///< f32 lanes of the widest vector register used
  uint16_t registers;
  bool masked_stores;  ///< tails by masked stores; else by a stack buffer
  temper_facts facts;  ///< nominal: what packs are chosen for where the machine itself cannot be asked
};

Result<Target> find_target(const std::string& name);
Target native_target();
std::vector<std::string> target_names();

}  // namespace temper
