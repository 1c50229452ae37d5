#include "codegen/reference_digests.h"

#include <doctest/doctest.h>

namespace temper {
namespace {

TEST_CASE("a digest that a pack brought is known and never computed") {
  ReferenceDigests digests(2);
  digests.set_known(0, 0xABCD);
  digests.set_known(1, 0);
  digests.want(0);
  CHECK(digests.known(0));
  CHECK(digests.value(0) == 0xABCD);
  CHECK_FALSE(digests.known(1));
  CHECK_FALSE(digests.start_wanted(0));
  CHECK(digests.start_any(2) == 1);
}

TEST_CASE("what is wanted comes before what may be needed, and each is computed once") {
  ReferenceDigests digests(4);
  digests.want(2);
  CHECK(digests.pending(2));
  CHECK_FALSE(digests.pending(0));
  CHECK_FALSE(digests.start_wanted(0));
  CHECK(digests.start_any(2) == 2);
  CHECK(digests.pending(2));
  CHECK_FALSE(digests.start_wanted(2));
  CHECK(digests.start_any(2) == 0);
  CHECK(digests.start_any(2) == 1);
  CHECK_FALSE(digests.start_any(2));
  CHECK(digests.start_any(100) == 3);
}

TEST_CASE("a digest is known when its computation ends, zero too, and failed when that cannot be done") {
  ReferenceDigests digests(2);
  digests.want(0);
  digests.want(1);
  REQUIRE(digests.start_wanted(0));
  REQUIRE(digests.start_wanted(1));
  digests.finish(0, 0u);
  digests.finish(1, std::nullopt);
  CHECK(digests.known(0));
  CHECK(digests.value(0) == 0);
  CHECK(digests.failed(1));
  CHECK_FALSE(digests.pending(1));
}

TEST_CASE("a computation whose process died is tried once more, then given up") {
  ReferenceDigests digests(1);
  digests.want(0);
  REQUIRE(digests.start_wanted(0));
  digests.give_up(0);
  CHECK(digests.pending(0));
  CHECK_FALSE(digests.failed(0));
  REQUIRE(digests.start_wanted(0));
  digests.give_up(0);
  CHECK(digests.failed(0));
  CHECK_FALSE(digests.start_any(1));
}

}  // namespace
}  // namespace temper
