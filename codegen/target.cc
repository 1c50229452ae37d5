#include "codegen/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

namespace temper {
namespace {

// One target per line: name, triple, cpu, features, f32 lanes, vector registers, masked stores, nominal facts
// (lanes, registers, L1D, L2, L3, cores, threads, clock kHz, copy MB/s, FMA latency, FMA per cycle, memories).
// clang-format off
const Target kTargets[] = {
    {"x86_64-linux", "x86_64-unknown-linux-gnu", "haswell", "", 8, 16, true, {{8, 16, 32768, 262144, 2097152, 4, 1, 3000000, 8000, 5, 2, 1}}},
    {"aarch64-linux", "aarch64-unknown-linux-gnu", "cortex-a53", "", 4, 32, false, {{4, 32, 32768, 131072, 0, 4, 1, 1200000, 2000, 4, 1, 1}}},
    {"armv7-linux", "armv7-unknown-linux-gnueabihf", "cortex-a7", "+neon,+vfp4,+use-misched", 4, 16, false, {{4, 16, 32768, 131072, 0, 4, 1, 900000, 1000, 8, 1, 1}}},
    {"riscv64-linux", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c,+v", 4, 32, true, {{4, 32, 32768, 131072, 0, 4, 1, 1000000, 1000, 5, 1, 1}}},
    {"riscv64gc-linux", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", 1, 32, false, {{1, 32, 32768, 131072, 0, 4, 1, 1000000, 1000, 5, 1, 1}}},
    {"cortex-m4", "thumbv7em-none-unknown-eabihf", "cortex-m4", "", 1, 32, false, {{1, 32, 0, 0, 0, 1, 1, 25000, 50, 3, 1, 1}}},
    {"cortex-m7", "thumbv7em-none-unknown-eabihf", "cortex-m7", "", 1, 32, false, {{1, 32, 16384, 0, 0, 1, 1, 25000, 50, 3, 1, 1}}},
    {"cortex-m55", "thumbv8.1m.main-none-unknown-eabihf", "cortex-m55", "", 4, 8, true, {{4, 8, 16384, 0, 0, 1, 1, 25000, 50, 2, 1, 1}}},
};
// clang-format on

}  // namespace

Target native_target() {
  Target target;
  target.name = "native";
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  llvm::SubtargetFeatures features;
  for (const auto& feature : host) {
    features.AddFeature(feature.first(), feature.second);
  }
  target.features = features.getString();
  const bool avx512 = host.lookup("avx512f") && host.lookup("avx512vl");
  const bool avx2 = host.lookup("avx2") && host.lookup("fma");
  target.lanes = avx512 ? 16 : avx2 ? 8 : 4;
  target.registers = avx512 || host.lookup("neon") ? 32 : 16;
  target.masked_stores = avx512 || avx2;
  return target;
}

Result<Target> find_target(const std::string& name) {
  if (name == "native") {
    return native_target();
  }
  std::string known = "native";
  for (const Target& target : kTargets) {
    if (target.name == name) {
      return target;
    }
    known += ", " + target.name;
  }
  return Error{TEMPER_UNSUPPORTED, "unknown target '" + name + "'; known: " + known};
}

std::vector<std::string> target_names() {
  std::vector<std::string> names = {"native"};
  for (const Target& target : kTargets) {
    names.push_back(target.name);
  }
  return names;
}

}  // namespace temper
