#include "runtime/fingerprint.h"

#include <cstring>

namespace temper {
namespace {

// Probes of one machine differ by noise; a change of hardware differs by more.
bool changed(uint32_t a, uint32_t b) {
  const uint32_t larger = a > b ? a : b;
  const uint32_t smaller = a > b ? b : a;
  return larger - smaller > larger / 10;
}

enum Comparison : uint8_t { kExact, kMeasured };

// The persisted layout, field by field; a loop over it is half the size of comparing by name.
struct Field {
  uint8_t offset, bytes;
  Comparison comparison;
  uint16_t bit;
};
constexpr Field kFields[] = {
    {0, 4, kExact, kFingerprintTarget},     {4, 4, kExact, kFingerprintTarget},
    {8, 4, kExact, kFingerprintCoreType},   {12, 2, kMeasured, kFingerprintCores},
    {14, 2, kExact, kFingerprintThreads},   {16, 2, kExact, kFingerprintVector},
    {18, 2, kExact, kFingerprintVector},    {20, 4, kMeasured, kFingerprintCaches},
    {24, 4, kMeasured, kFingerprintCaches}, {28, 4, kMeasured, kFingerprintCaches},
    {32, 4, kMeasured, kFingerprintClock},  {36, 4, kMeasured, kFingerprintCopyRate},
    {40, 4, kExact, kFingerprintDriver},    {44, 4, kExact, kFingerprintPack},
    {48, 2, kExact, kFingerprintFeatures},  {50, 1, kExact, kFingerprintClockPolicy},
};
static_assert(sizeof(Fingerprint) == 56, "layout is persisted");

uint32_t value_of(const Fingerprint& from, const Field& field) {
  uint32_t value = 0;
  std::memcpy(&value, reinterpret_cast<const uint8_t*>(&from) + field.offset, field.bytes);
  return value;
}

uint32_t positive(int32_t value) { return value > 0 ? static_cast<uint32_t>(value) : 0; }

uint16_t narrow(int32_t value) {
  const uint32_t count = positive(value);
  return count > UINT16_MAX ? UINT16_MAX : static_cast<uint16_t>(count);
}

}  // namespace

uint32_t compare(const Fingerprint& a, const Fingerprint& b) {
  uint32_t bits = 0;
  for (const Field& field : kFields) {
    const uint32_t of_a = value_of(a, field), of_b = value_of(b, field);
    if (field.comparison == kExact ? of_a != of_b : changed(of_a, of_b)) {
      bits |= field.bit;
    }
  }
  return bits;
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
