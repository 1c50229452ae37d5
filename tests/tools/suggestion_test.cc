#include "tools/suggestion.h"

#include <doctest/doctest.h>

namespace temper {
namespace {

TEST_CASE("distance counts insertions, deletions, replacements and swapped neighbours") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("tune", "tune") == 0);
  CHECK(edit_distance("tun", "tune") == 1);
  CHECK(edit_distance("tunes", "tune") == 1);
  CHECK(edit_distance("tine", "tune") == 1);
  CHECK(edit_distance("tnue", "tune") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "xyz") == 3);
}

TEST_CASE("the nearest word is suggested while it is near") {
  const std::vector<std::string> known = {"bench", "import", "inspect", "lookup", "tune"};
  CHECK(nearest_word("tnue", known) == "tune");
  CHECK(nearest_word("inport", known) == "import");
  CHECK(nearest_word("lokup", known) == "lookup");
  CHECK(nearest_word("frobnicate", known).empty());
  CHECK(nearest_word("xy", {"ab"}).empty());
  CHECK(did_you_mean("benhc", known) == "; did you mean 'bench'?");
  CHECK(did_you_mean("zzzzzz", known).empty());
}

}  // namespace
}  // namespace temper
