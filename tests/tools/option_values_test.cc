#include "tools/option_values.h"

#include <doctest/doctest.h>

namespace temper {
namespace {

std::string refusal(const CLI::Validator& validator, std::string text) { return validator(text); }

TEST_CASE("whole numbers are decimal digits within their limits") {
  const CLI::Validator validator = whole_number(1, 15);
  for (const char* text : {"1", "15", "007"}) {
    CHECK(refusal(validator, text).empty());
  }
  for (const char* text : {"", "0", "16", "-1", "+1", "0x3", "1e1", "1.0", " 1", "1 ", "18446744073709551617"}) {
    CAPTURE(text);
    CHECK(refusal(validator, text) == "'" + std::string(text) + "' is not a whole number from 1 to 15");
  }
  CHECK(refusal(whole_number(0, UINT64_MAX), "18446744073709551615").empty());
  CHECK_FALSE(refusal(whole_number(0, UINT64_MAX), "18446744073709551616").empty());
}

TEST_CASE("a leading zero does not make a number octal") {
  std::string text = "010";
  const CLI::Validator validator = whole_number(1, 15);
  CHECK(validator(text).empty());
  CHECK(text == "10");
}

TEST_CASE("offsets are decimal or hexadecimal and become decimal") {
  const CLI::Validator validator = byte_offset();
  std::string text = "0x1F000";
  CHECK(validator(text).empty());
  CHECK(text == "126976");
  for (const char* good : {"0", "4096", "0XfF"}) {
    CHECK(refusal(validator, good).empty());
  }
  for (const char* bad : {"", "0x", "-1", "12q", "1e3", "0x1FFFFFFFFFFFFFFFF", " 1"}) {
    CAPTURE(bad);
    CHECK_FALSE(refusal(validator, bad).empty());
  }
}

TEST_CASE("real numbers are finite and within their limits") {
  const CLI::Validator validator = real_number(0.001, 10000.0);
  for (const char* text : {"0.001", "1", "2.5", "1e3", "10000"}) {
    CHECK(refusal(validator, text).empty());
  }
  for (const char* text : {"", "0", "nan", "inf", "-1", "10000.1", "1s", "0x10"}) {
    CAPTURE(text);
    CHECK_FALSE(refusal(validator, text).empty());
  }
}

}  // namespace
}  // namespace temper
