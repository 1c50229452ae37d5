#include "tools/duration.h"

#include <doctest/doctest.h>

namespace temper {
namespace {

TEST_CASE("durations are read in their four units, fractions too") {
  CHECK(*parse_duration("500ms") == 500'000'000u);
  CHECK(*parse_duration("20s") == 20'000'000'000u);
  CHECK(*parse_duration("1.5s") == 1'500'000'000u);
  CHECK(*parse_duration("5m") == 300'000'000'000u);
  CHECK(*parse_duration("2h") == 7'200'000'000'000u);
}

TEST_CASE("what is no duration is refused with how to write one") {
  for (const char* text : {"", "20", "s", "20 s", "-3s", "0s", "20sec", "1e30h", "nan s", "infs"}) {
    CAPTURE(text);
    const Result<uint64_t> duration = parse_duration(text);
    REQUIRE_FALSE(duration.ok());
    CHECK(duration.error().code == TEMPER_INVALID_ARGUMENT);
    CHECK(duration.error().message.find("500ms") != std::string::npos);
  }
}

TEST_CASE("times are shown with three digits in the unit that fits") {
  CHECK(duration_text(0) == "0 ns");
  CHECK(duration_text(850) == "850 ns");
  CHECK(duration_text(12'340) == "12.3 us");
  CHECK(duration_text(4'560'000) == "4.56 ms");
  CHECK(duration_text(123'000'000) == "123 ms");
  CHECK(duration_text(61'000'000'000) == "61.0 s");
}

}  // namespace
}  // namespace temper
