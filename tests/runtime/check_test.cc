#include "runtime/check.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "runtime/crc32.h"

namespace temper {
namespace {

std::vector<float> filled(temper_tensor which, size_t count) {
  std::vector<float> values(count);
  fill_small_integers(which, {values.data(), values.size()});
  return values;
}

uint32_t digest_of(const std::vector<float>& values) { return digest({values.data(), values.size()}); }

bool guarded(const std::vector<float>& values) { return guards_intact({values.data(), values.size()}); }

}  // namespace

TEST_CASE("inputs are all the integers from -8 to 7, about equally often, and depend on tensor and index alone") {
  const std::vector<float> a = filled(TEMPER_IN_A, 16000);
  uint32_t counts[16] = {};
  for (const float value : a) {
    REQUIRE(value == static_cast<float>(static_cast<int>(value)));
    REQUIRE(value >= -8.0f);
    REQUIRE(value <= 7.0f);
    ++counts[static_cast<int>(value) + 8];
  }
  for (const uint32_t count : counts) {
    CHECK(count > 850);
    CHECK(count < 1150);
  }
  const std::vector<float> shorter = filled(TEMPER_IN_A, 100);
  CHECK(std::equal(shorter.begin(), shorter.end(), a.begin()));
  CHECK(filled(TEMPER_IN_B, 100) != shorter);
  CHECK(filled(TEMPER_BIAS, 100) != filled(TEMPER_ADDEND, 100));
}

TEST_CASE("inputs are the same on every machine") {
  // The digest of a pack is computed on the host and compared on the device: these values may never change.
  CHECK(digest_of(filled(TEMPER_IN_A, 1000)) == 0x8A57F1A4u);
  CHECK(digest_of(filled(TEMPER_IN_B, 1000)) == 0x3907F067u);
}

TEST_CASE("poison is not a number, and a write to any guard element is seen") {
  std::vector<float> out(2 * kGuardElements + 5);
  poison({out.data(), out.size()});
  for (const float value : out) {
    REQUIRE(value != value);
  }
  CHECK(guarded(out));
  for (size_t i = 0; i < out.size(); ++i) {
    const bool is_guard = i < kGuardElements || i >= out.size() - kGuardElements;
    for (const float written : {0.0f, std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> copy(out.size());
      std::memcpy(copy.data(), out.data(), out.size() * sizeof(float));
      copy[i] = written;
      REQUIRE(guarded(copy) != is_guard);
    }
  }
  CHECK_FALSE(guards_intact({out.data(), 2 * kGuardElements - 1}));
}

TEST_CASE("the digest is the CRC of the elements, takes both zeros for one and sees every element") {
  std::vector<float> values = {1.0f, -2.5f, 0.0f, 3e20f};
  const uint32_t plain = digest_of(values);
  CHECK(plain == crc32(0, values.data(), values.size() * sizeof(float)));
  values[2] = -0.0f;
  CHECK(digest_of(values) == plain);
  for (float& value : values) {
    const float kept = value;
    value += 1.0f + kept;
    CHECK(digest_of(values) != plain);
    value = kept;
  }
  std::swap(values[0], values[1]);
  CHECK(digest_of(values) != plain);
  CHECK(digest_of({}) == 0);
}

}  // namespace temper
