// This machine as the host tools tune it: its target's name, its facts and its fingerprint. Probed once per command.
#pragma once

#include <string>

#include "runtime/fingerprint.h"
#include "runtime/pack_view.h"
#include "schedules/result.h"

namespace temper {

struct HostDevice {
  std::string target;  ///< instruction set and processor, also a file name: "x86_64-znver4"
  std::string cpu_name;
  uint64_t target_hash = 0;
  temper_facts facts{};
  uint32_t core_type = 0;
};

/// `threads`: what plans may use; 0 means one. TEMPER_INVALID_ARGUMENT beyond the CPUs that this process may run on.
Result<HostDevice> probe_host(uint32_t threads);

/// Of this machine: instruction set and processor.
std::string host_target_name();

/// The name behind a fingerprint's hash, where it is that of a target of ours or of this machine; else empty.
std::string target_name_of(uint64_t target_hash);

/// What fingerprints say of a target: a hash (FNV-1a 64) of its name.
uint64_t target_hash_of(const std::string& target);

/// What results of kernels built here, for this pack, are valid for.
Fingerprint host_fingerprint(const HostDevice& device, const PackView& pack);

/// "core type, threads" for a mask of FingerprintField.
std::string fingerprint_fields_text(uint32_t fields);

}  // namespace temper
