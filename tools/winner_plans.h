// A network's winners made ready to be compiled: plans by the runtime's own make_plan, the kernels that they name, each
// once, and constants packed for them. Called by bake; compiles and writes nothing.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/winners.h"
#include "schedules/network.h"
#include "schedules/table_writer.h"
#include "tools/winner_choice.h"

namespace temper {

/// Whether a default whose packed constant differs from the winner's gets one of its own.
enum class FallbackConstants : uint8_t { kPacked, kLeftOut };

struct WinnerOptions {
  std::string name;       ///< a C identifier; begins every symbol
  std::string constants;  ///< folder (tools/prepacked_constants.h); empty: constants are packed at boot
  FallbackConstants fallback = FallbackConstants::kPacked;
};

struct BakedWorkload {
  NetworkWorkload workload;
  TableEntry entry;    ///< with its plans
  std::string source;  ///< "history", "table", or "default": no commit
  std::string file;    ///< that the winner came from; empty: none
  std::vector<std::pair<std::string, int32_t>> config;
};

struct BakedNetwork {
  std::vector<BakedWorkload> workloads;  ///< in the network's order
  std::vector<KernelRequest> kernels;
  std::vector<PrepackedConstant> constants;
  std::vector<std::string> remarks;  ///< sentences for the user
};

/// `facts`: of the device, as far as the fingerprint and the target tell them. TEMPER_UNSUPPORTED when a workload's
/// space holds no legal config.
Result<BakedNetwork> plan_winners(const Network& network, const BakeSources& sources, const TunedDevice& device,
                                  const temper_facts& facts, const std::string& target, const WinnerOptions& options);

}  // namespace temper
