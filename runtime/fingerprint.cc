#include "runtime/fingerprint.h"

namespace temper {
namespace {

// Probes of one machine differ by noise; a change of hardware differs by more.
bool changed(uint32_t a, uint32_t b) {
  const uint32_t larger = a > b ? a : b;
  const uint32_t smaller = a > b ? b : a;
  return larger - smaller > larger / 10;
}

// The numbers of a fingerprint in one order: first those that are measured or may differ a little, then those that are
// exact.
constexpr uint16_t kNumberField[] = {
    kFingerprintCores,    kFingerprintCaches,   kFingerprintCaches,   kFingerprintCaches,      kFingerprintClock,
    kFingerprintCopyRate, kFingerprintCoreType, kFingerprintThreads,  kFingerprintVector,      kFingerprintVector,
    kFingerprintDriver,   kFingerprintPack,     kFingerprintFeatures, kFingerprintClockPolicy,
};
constexpr uint32_t kMeasuredCount = 6;
constexpr uint32_t kNumberCount = sizeof kNumberField / sizeof kNumberField[0];

void list_numbers(const Fingerprint& from, uint32_t (&out)[kNumberCount]) {
  out[0] = from.cores();
  out[1] = from.l1d_bytes();
  out[2] = from.l2_bytes();
  out[3] = from.l3_bytes();
  out[4] = from.clock_khz();
  out[5] = from.copy_mb_s();
  out[6] = from.core_type();
  out[7] = from.threads();
  out[8] = from.vector_lanes();
  out[9] = from.vector_registers();
  out[10] = from.driver();
  out[11] = from.pack_hash();
  out[12] = from.feature_version();
  out[13] = from.clock_policy();
}

uint32_t positive(int32_t value) { return value > 0 ? static_cast<uint32_t>(value) : 0; }

uint16_t narrow(int32_t value) {
  const uint32_t count = positive(value);
  return count > UINT16_MAX ? UINT16_MAX : static_cast<uint16_t>(count);
}

}  // namespace

uint32_t compare(const Fingerprint& a, const Fingerprint& b) {
  uint32_t numbers_a[kNumberCount], numbers_b[kNumberCount];
  list_numbers(a, numbers_a);
  list_numbers(b, numbers_b);
  uint32_t fields = 0;
  if (a.target_hash() != b.target_hash()) {
    fields = kFingerprintTarget;
  }
  for (uint32_t i = 0; i < kNumberCount; ++i) {
    if (i < kMeasuredCount ? changed(numbers_a[i], numbers_b[i]) : numbers_a[i] != numbers_b[i]) {
      fields |= kNumberField[i];
    }
  }
  return fields;
}

const char* fingerprint_field_name(uint32_t bit) {
  static constexpr const char* kName[] = {"target", "core type", "cores",  "threads", "vector width", "caches",
                                          "clock",  "copy rate", "driver", "pack",    "features",     "clock policy"};
  static_assert(sizeof kName / sizeof kName[0] == kFingerprintFieldCount, "one name per field");
  return bit < kFingerprintFieldCount ? kName[bit] : "unknown";
}

Fingerprint make_fingerprint(uint64_t target_hash, const temper_facts& facts, uint32_t core_type, uint32_t driver,
                             uint32_t pack_hash, uint16_t feature_version) {
  const int32_t* fact = facts.value;
  return Fingerprint(target_hash, core_type, narrow(fact[TEMPER_FACT_CORES]), narrow(fact[TEMPER_FACT_THREADS]),
                     narrow(fact[TEMPER_FACT_VECTOR_LANES]), narrow(fact[TEMPER_FACT_VECTOR_REGISTERS]),
                     positive(fact[TEMPER_FACT_L1D_BYTES]), positive(fact[TEMPER_FACT_L2_BYTES]),
                     positive(fact[TEMPER_FACT_L3_BYTES]), positive(fact[TEMPER_FACT_CLOCK_KHZ]),
                     positive(fact[TEMPER_FACT_COPY_MB_S]), driver, pack_hash, feature_version, 0, 0);
}

}  // namespace temper
