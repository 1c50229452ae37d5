#include "runtime/fingerprint.h"

namespace temper {
namespace {

// Probes of one machine differ by noise; a change of hardware differs by more.
bool changed(uint32_t a, uint32_t b) {
  const uint32_t larger = a > b ? a : b;
  const uint32_t smaller = a > b ? b : a;
  return larger - smaller > larger / 10;
}

constexpr uint8_t kNoFact = 0xFF;

// The persisted layout, field by field, and the fact that fills it; loops over it are half the size of code by name.
struct Field {
  uint8_t offset, bytes, bit, fact;
};
constexpr Field kFields[] = {
    {0, 4, 0, kNoFact},  // target, in two halves
    {4, 4, 0, kNoFact},  //
    {8, 4, 1, kNoFact},  // core type
    {12, 2, 2, TEMPER_FACT_CORES},
    {14, 2, 3, TEMPER_FACT_THREADS},
    {16, 2, 4, TEMPER_FACT_VECTOR_LANES},
    {18, 2, 4, TEMPER_FACT_VECTOR_REGISTERS},
    {20, 4, 5, TEMPER_FACT_L1D_BYTES},
    {24, 4, 5, TEMPER_FACT_L2_BYTES},
    {28, 4, 5, TEMPER_FACT_L3_BYTES},
    {32, 4, 6, TEMPER_FACT_CLOCK_KHZ},
    {36, 4, 7, TEMPER_FACT_COPY_MB_S},
    {40, 4, 8, kNoFact},   // driver
    {44, 4, 9, kNoFact},   // pack
    {48, 2, 10, kNoFact},  // features
    {50, 1, 11, kNoFact},  // clock policy
    {51, 1, 12, TEMPER_FACT_MEMORIES},
};
// Measured, not given: compared with tolerance.
constexpr uint32_t kMeasured = kFingerprintCores | kFingerprintCaches | kFingerprintClock | kFingerprintCopyRate;
static_assert(sizeof(Fingerprint) == 56, "layout is persisted");

uint32_t value_of(const Fingerprint& from, const Field& field) {
  const uint8_t* const at = reinterpret_cast<const uint8_t*>(&from) + field.offset;
  uint32_t value = 0;
  for (uint32_t i = field.bytes; i > 0; --i) {
    value = value << 8 | at[i - 1];
  }
  return value;
}

}  // namespace

uint32_t compare(const Fingerprint& a, const Fingerprint& b) {
  uint32_t bits = 0;
  for (const Field& field : kFields) {
    const uint32_t of_a = value_of(a, field), of_b = value_of(b, field);
    const uint32_t bit = 1u << field.bit;
    if ((kMeasured & bit) != 0 ? changed(of_a, of_b) : of_a != of_b) {
      bits |= bit;
    }
  }
  return bits;
}

Fingerprint make_fingerprint(uint64_t target_hash, const temper_facts& facts, uint32_t core_type, uint32_t driver,
                             uint32_t pack_hash, uint16_t feature_version) {
  Fingerprint made(target_hash, core_type, 0, 0, 0, 0, 0, 0, 0, 0, 0, driver, pack_hash, feature_version, 0, 0);
  for (const Field& field : kFields) {
    if (field.fact == kNoFact) {
      continue;
    }
    const int32_t fact = facts.value[field.fact];
    uint32_t value = fact > 0 ? static_cast<uint32_t>(fact) : 0;
    value = field.bytes == 2 && value > UINT16_MAX ? UINT16_MAX : value;
    value -= field.bytes == 1 && value == 1 ? 1 : 0;  // 0 and 1 memories are the same
    for (uint32_t i = 0; i < field.bytes; ++i, value >>= 8) {
      reinterpret_cast<uint8_t*>(&made)[field.offset + i] = static_cast<uint8_t>(value);
    }
  }
  return made;
}

}  // namespace temper

const char* temper_fingerprint_field(uint32_t bit) {
  static constexpr const char* kName[] = {"target",   "core type",    "cores",     "threads", "vector width",
                                          "caches",   "clock",        "copy rate", "driver",  "pack",
                                          "features", "clock policy", "memories"};
  static_assert(sizeof kName / sizeof kName[0] == temper::kFingerprintFieldCount, "one name per field");
  return bit < temper::kFingerprintFieldCount ? kName[bit] : "unknown";
}
