#include "runtime/suspect_variants.h"

#include <doctest/doctest.h>

namespace temper {

TEST_CASE("a variant is out after two crashes without a success in between") {
  SuspectVariants suspects;
  CHECK(suspects.empty());
  suspects.observe(3, TEMPER_OUTCOME_CRASHED);
  CHECK(!suspects.empty());
  CHECK(!suspects.is_out(3));
  suspects.observe(3, TEMPER_OUTCOME_TOO_SLOW);
  suspects.observe(4, TEMPER_OUTCOME_CRASHED);
  suspects.observe(3, TEMPER_OUTCOME_CRASHED);
  CHECK(suspects.is_out(3));
  CHECK(!suspects.is_out(4));
  CHECK(!suspects.is_out(-1));
}

TEST_CASE("a crash that looks like a power cut is forgotten when the variant works") {
  SuspectVariants suspects;
  for (int i = 0; i < 5; ++i) {
    suspects.observe(0, TEMPER_OUTCOME_CRASHED);
    CHECK(!suspects.is_out(0));
    suspects.observe(0, TEMPER_OUTCOME_OK);
  }
}

TEST_CASE("failures that cost no reset, and configs without a variant, are no suspects") {
  SuspectVariants suspects;
  for (int i = 0; i < 5; ++i) {
    suspects.observe(1, TEMPER_OUTCOME_WRONG_RESULT);
    suspects.observe(2, TEMPER_OUTCOME_INVALID);
    suspects.observe(-1, TEMPER_OUTCOME_CRASHED);
  }
  CHECK(suspects.empty());
}

TEST_CASE("of many suspects the latest are remembered") {
  SuspectVariants suspects;
  for (int32_t variant = 0; variant < 1000; ++variant) {
    suspects.observe(variant, TEMPER_OUTCOME_CRASHED);
    suspects.observe(variant, TEMPER_OUTCOME_CRASHED);
    CHECK(suspects.is_out(variant));
    CHECK(suspects.is_out(variant < 7 ? 0 : variant - 7));
  }
  CHECK(!suspects.is_out(0));
}

}  // namespace temper
