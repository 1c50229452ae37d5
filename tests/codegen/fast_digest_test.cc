#include "codegen/fast_digest.h"

#include <doctest/doctest.h>

#include <vector>

#include "runtime/check.h"
#include "runtime/random.h"

namespace temper {
namespace {

TEST_CASE("the fast digest equals the device's for every length up to 70 and for large outputs") {
  Random random(11);
  for (size_t length = 0; length < 70; ++length) {
    std::vector<float> output(length);
    for (float& element : output) {
      element = static_cast<float>(static_cast<int>(random.below(2001)) - 1000) / 8.0f;
    }
    CAPTURE(length);
    CHECK(fast_digest({output.data(), output.size()}) == digest({output.data(), output.size()}));
  }
  std::vector<float> large(100003);
  fill_small_integers(TEMPER_IN_A, {large.data(), large.size()});
  CHECK(fast_digest({large.data(), large.size()}) == digest({large.data(), large.size()}));
}

TEST_CASE("the fast digest counts minus zero as zero and tells other values apart") {
  std::vector<float> plus = {1.0f, 0.0f, 2.0f}, minus = {1.0f, -0.0f, 2.0f}, other = {1.0f, 0.5f, 2.0f};
  const uint32_t expected = fast_digest({plus.data(), plus.size()});
  CHECK(fast_digest({minus.data(), minus.size()}) == expected);
  CHECK(fast_digest({other.data(), other.size()}) != expected);
  CHECK(digest({minus.data(), minus.size()}) == expected);
}

}  // namespace
}  // namespace temper
