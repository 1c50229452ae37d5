// What a result is valid for, field by field, and how two of them are compared. Layout: format::Fingerprint.
#pragma once

#include <cstdint>

#include "runtime/flatbuffers_config.h"
#include "temper/kernel.h"

namespace temper {

using Fingerprint = format::Fingerprint;

/// Bits of the mask that compare() gives. Numeric facts count as changed only beyond 10 %.
enum FingerprintField : uint32_t {
  kFingerprintTarget = 1u << 0,
  kFingerprintCoreType = 1u << 1,
  kFingerprintCores = 1u << 2,
  kFingerprintThreads = 1u << 3,
  kFingerprintVector = 1u << 4,
  kFingerprintCaches = 1u << 5,
  kFingerprintClock = 1u << 6,
  kFingerprintCopyRate = 1u << 7,
  kFingerprintDriver = 1u << 8,
  kFingerprintPack = 1u << 9,
  kFingerprintFeatures = 1u << 10,
  kFingerprintClockPolicy = 1u << 11,
  kFingerprintMemories = 1u << 12,
};
inline constexpr uint32_t kFingerprintFieldCount = 13;

/// Fields in which they differ; 0: the same device.
uint32_t compare(const Fingerprint& a, const Fingerprint& b);
/// Fields whose difference makes a result a hint only.
inline constexpr uint32_t kFingerprintDecisive = kFingerprintTarget | kFingerprintCoreType | kFingerprintThreads |
                                                 kFingerprintVector | kFingerprintDriver | kFingerprintPack;
/// Fields that the devices of a class have in common: its target and vectors.
inline constexpr uint32_t kFingerprintClass = kFingerprintTarget | kFingerprintVector;
/// Of the decisive ones those that make another device of it: there a default that was kept says nothing.
inline constexpr uint32_t kFingerprintOtherDevice = kFingerprintClass | kFingerprintCoreType | kFingerprintThreads;
/// Fields whose difference leaves a winner in use, but its times are of another device: it wants to be confirmed. The
/// copy rate is told only: that of one machine differs by more than 10 % from probe to probe.
inline constexpr uint32_t kFingerprintConfirm =
    kFingerprintCores | kFingerprintCaches | kFingerprintClock | kFingerprintClockPolicy | kFingerprintMemories;

Fingerprint make_fingerprint(uint64_t target_hash, const temper_facts& facts, uint32_t core_type, uint32_t driver,
                             uint32_t pack_hash, uint16_t feature_version);

}  // namespace temper
