#include "tools/text_table.h"

#include <doctest/doctest.h>

namespace temper {
namespace {

TEST_CASE("columns are as wide as their widest cell and lines end without spaces") {
  TextTable table({{"name"}, {"us", Align::kRight}, {"note"}});
  CHECK(table.empty());
  table.add_row({"a long name", "7", ""});
  table.add_row({"b", "1234", "why"});
  CHECK(table.text() ==
        "name           us  note\n"
        "a long name     7\n"
        "b            1234  why\n");
}

TEST_CASE("cells count characters, not bytes, and missing ones are empty") {
  TextTable table({{"x"}, {"y"}});
  table.add_row({"\xc2\xb5s", "1"});
  table.add_row({"ms"});
  CHECK(table.text() == "x   y\n\xc2\xb5s  1\nms\n");
}

TEST_CASE("decimals are rounded to the digits asked for") {
  CHECK(decimal(1.25, 1) == "1.2");
  CHECK(decimal(0.0, 2) == "0.00");
  CHECK(decimal(1234.5678, 3) == "1234.568");
}

TEST_CASE("control characters in cells do not reach a terminal") {
  TextTable table({{"name"}});
  table.add_row({"a\x1b[31m\nb\x7f\xc3\xa9"});
  CHECK(table.text() == "name\na?[31m?b?\xc3\xa9\n");
}

TEST_CASE("a message of several lines keeps them, indented, without other control characters") {
  CHECK(printable_lines("one") == "one");
  CHECK(printable_lines("the end of build.log:\nerror: x\ty\n\ntemper: done\n") ==
        "the end of build.log:\n  error: x?y\n  temper: done");
  CHECK(printable_lines("").empty());
}

}  // namespace
}  // namespace temper
