#include "runtime/status.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

TEST_CASE("every status and outcome has a name of its own; values out of range are unknown") {
  std::set<std::string> names;
  for (int i = 0; i < TEMPER_STATUS_COUNT; ++i) {
    names.insert(temper_status_name(static_cast<temper_status>(i)));
  }
  CHECK(names.size() == TEMPER_STATUS_COUNT);
  CHECK(names.count("unknown") == 0);
  names.clear();
  for (int i = 0; i < TEMPER_OUTCOME_COUNT; ++i) {
    names.insert(temper_outcome_name(static_cast<temper_outcome>(i)));
  }
  CHECK(names.size() == TEMPER_OUTCOME_COUNT);
  CHECK(names.count("unknown") == 0);
  CHECK(std::string(temper_status_name(TEMPER_STATUS_COUNT)) == "unknown");
  CHECK(std::string(temper_outcome_name(TEMPER_OUTCOME_COUNT)) == "unknown");
  CHECK(std::string(temper_outcome_name(TEMPER_OUTCOME_WRONG_RESULT)) == "wrong_result");
}
