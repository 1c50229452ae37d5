#include "runtime/fingerprint.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace temper {
namespace {

temper_facts facts() {
  temper_facts facts{};
  facts.value[TEMPER_FACT_VECTOR_LANES] = 8;
  facts.value[TEMPER_FACT_VECTOR_REGISTERS] = 16;
  facts.value[TEMPER_FACT_L1D_BYTES] = 32768;
  facts.value[TEMPER_FACT_L2_BYTES] = 1 << 20;
  facts.value[TEMPER_FACT_L3_BYTES] = 0;
  facts.value[TEMPER_FACT_CORES] = 4;
  facts.value[TEMPER_FACT_THREADS] = 4;
  facts.value[TEMPER_FACT_CLOCK_KHZ] = 3000000;
  facts.value[TEMPER_FACT_COPY_MB_S] = 10000;
  return facts;
}

Fingerprint fingerprint_of(const temper_facts& facts) { return make_fingerprint(1, facts, 2, 3, 4, 5); }

uint32_t fields_changed_by(temper_fact fact, int32_t value) {
  temper_facts other = facts();
  other.value[fact] = value;
  const uint32_t fields = compare(fingerprint_of(facts()), fingerprint_of(other));
  CHECK(fields == compare(fingerprint_of(other), fingerprint_of(facts())));
  return fields;
}

TEST_CASE("a fingerprint equals itself and keeps what it was made from") {
  const Fingerprint made = fingerprint_of(facts());
  CHECK(compare(made, made) == 0);
  CHECK(made.target_hash() == 1);
  CHECK(made.core_type() == 2);
  CHECK(made.driver() == 3);
  CHECK(made.pack_hash() == 4);
  CHECK(made.feature_version() == 5);
  CHECK(made.cores() == 4);
  CHECK(made.vector_lanes() == 8);
  CHECK(made.vector_registers() == 16);
  CHECK(made.l1d_bytes() == 32768);
  CHECK(made.l2_bytes() == 1u << 20);
  CHECK(made.clock_khz() == 3000000);
  CHECK(made.copy_mb_s() == 10000);
}

TEST_CASE("each field that differs is told") {
  CHECK(fields_changed_by(TEMPER_FACT_CORES, 3) == kFingerprintCores);
  CHECK(fields_changed_by(TEMPER_FACT_THREADS, 3) == kFingerprintThreads);
  CHECK(fields_changed_by(TEMPER_FACT_VECTOR_LANES, 16) == kFingerprintVector);
  CHECK(fields_changed_by(TEMPER_FACT_VECTOR_REGISTERS, 32) == kFingerprintVector);
  CHECK(fields_changed_by(TEMPER_FACT_L1D_BYTES, 49152) == kFingerprintCaches);
  CHECK(fields_changed_by(TEMPER_FACT_L2_BYTES, 1 << 21) == kFingerprintCaches);
  CHECK(fields_changed_by(TEMPER_FACT_L3_BYTES, 1 << 23) == kFingerprintCaches);
  CHECK(fields_changed_by(TEMPER_FACT_CLOCK_KHZ, 2000000) == kFingerprintClock);
  CHECK(fields_changed_by(TEMPER_FACT_COPY_MB_S, 20000) == kFingerprintCopyRate);
  const Fingerprint base = make_fingerprint(1, facts(), 2, 3, 4, 5);
  CHECK(compare(base, make_fingerprint(uint64_t{1} << 33, facts(), 2, 3, 4, 5)) == kFingerprintTarget);
  CHECK(compare(base, make_fingerprint(1, facts(), 9, 3, 4, 5)) == kFingerprintCoreType);
  CHECK(compare(base, make_fingerprint(1, facts(), 2, 9, 4, 5)) == kFingerprintDriver);
  CHECK(compare(base, make_fingerprint(1, facts(), 2, 3, 9, 5)) == kFingerprintPack);
  CHECK(compare(base, make_fingerprint(1, facts(), 2, 3, 4, 9)) == kFingerprintFeatures);
  CHECK(compare(base, make_fingerprint(0, facts(), 0, 3, 0, 5)) ==
        (kFingerprintTarget | kFingerprintCoreType | kFingerprintPack));
}

TEST_CASE("measured facts count as changed only beyond 10 percent") {
  CHECK(fields_changed_by(TEMPER_FACT_CLOCK_KHZ, 2700000) == 0);
  CHECK(fields_changed_by(TEMPER_FACT_CLOCK_KHZ, 2699999) == kFingerprintClock);
  CHECK(fields_changed_by(TEMPER_FACT_COPY_MB_S, 11000) == 0);
  CHECK(fields_changed_by(TEMPER_FACT_COPY_MB_S, 11200) == kFingerprintCopyRate);
  CHECK(fields_changed_by(TEMPER_FACT_L2_BYTES, (1 << 20) - 100000) == 0);
}

TEST_CASE("facts out of range are clamped") {
  temper_facts odd = facts();
  odd.value[TEMPER_FACT_CORES] = 100000;
  odd.value[TEMPER_FACT_L3_BYTES] = -5;
  odd.value[TEMPER_FACT_THREADS] = -1;
  const Fingerprint made = fingerprint_of(odd);
  CHECK(made.cores() == 65535);
  CHECK(made.l3_bytes() == 0);
  CHECK(made.threads() == 0);
}

TEST_CASE("every field has a name of its own") {
  std::set<std::string> names;
  for (uint32_t bit = 0; bit < kFingerprintFieldCount; ++bit) {
    names.insert(temper_fingerprint_field(bit));
  }
  CHECK(names.size() == kFingerprintFieldCount);
  CHECK(names.count("unknown") == 0);
  CHECK(std::string(temper_fingerprint_field(kFingerprintFieldCount)) == "unknown");
}

}  // namespace
}  // namespace temper
