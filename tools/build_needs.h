// What a pack's first boot takes of RAM and storage on its device, computed on the host by the device core itself: the
// arena part by part, memory for tensors, history bytes by trial. Used by build before anything is flashed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/network.h"
#include "temper/temper.h"

namespace temper {

struct BuildNeed {
  std::string part;
  uint64_t bytes;
};

struct BuildNeeds {
  std::vector<BuildNeed> arena;
  uint64_t arena_bytes = 0;
  uint64_t every_candidate_bytes = 0;  ///< tensors, packed constant and workspace of the largest workload
  uint64_t defaults_bytes = 0;         ///< the same for the defaults alone: with less, tuning does not start
  std::string largest_workload;        ///< by its tensors
  uint64_t largest_tensor_bytes = 0;
  uint64_t history_fixed_bytes = 0;  ///< header, fingerprint, and of each workload its name and its commit
  uint64_t history_trial_bytes = 0;  ///< intent and trial, the longest of any template

  uint64_t history_bytes(uint64_t trials) const { return history_fixed_bytes + trials * history_trial_bytes; }
};

struct NeedsSettings {
  temper_facts facts{};
  uint32_t max_trials = 0;
  uint32_t program_bytes = 1;  ///< of the board's storage; 0: there is none
  bool learning = false;
};

/// For this host's layout of the context, which set_context_bytes replaces. `kernel_count`: as the pack's data says.
Result<BuildNeeds> compute_needs(const std::vector<uint8_t>& pack_data, uint32_t kernel_count,
                                 const NeedsSettings& settings);

/// Everything in the arena but the context is the same on 32 and on 64 bits: puts in its bytes on the target, as the
/// symbol temper_layout_context of the cross-built core says.
void set_context_bytes(uint64_t bytes, BuildNeeds* needs);

}  // namespace temper
