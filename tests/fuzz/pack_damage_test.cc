// Kernel packs under every damage of one place: all of it is refused, with a reason. No byte is outside the checksum,
// padding included, so there is nothing to compare.
#include <doctest/doctest.h>

#include "tests/fuzz/damage.h"
#include "tests/fuzz/first_boot.h"
#include "tests/fuzz/loaders.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/samples.h"

namespace temper::test {
namespace {

bool refused(const Bytes& bytes) {
  PackView view;
  const char* reason = nullptr;
  const Status status = PackView::open(as_pack(bytes), &view, &reason);
  return !status.ok() && reason != nullptr && *reason != '\0' && view.workload_count() == 0;
}

}  // namespace

TEST_CASE("a flipped byte of a pack is refused with a reason") {
  for (const Bytes& bytes : {boot_pack(), sample_board_pack(), sample_pack()}) {
    REQUIRE_FALSE(refused(bytes));
    const bool small = bytes.size() < 4096;
    for (size_t at = 0; at < bytes.size(); ++at) {
      CAPTURE(at);
      REQUIRE(refused(flipped(bytes, at, some_bit(at))));
      for (size_t i = 0; small && i < sizeof kEachBit; ++i) {
        REQUIRE(refused(flipped(bytes, at, kEachBit[i])));
      }
    }
  }
}

TEST_CASE("a pack that was cut or made longer is refused with a reason") {
  for (const Bytes& bytes : {boot_pack(), sample_board_pack()}) {
    require_at_other_lengths(bytes, refused);
  }
}

TEST_CASE("a flipped byte under a new checksum is refused or read inside the pack") {
  const struct {
    Bytes bytes;
    size_t stride;
  } packs[] = {{boot_pack(), 1}, {sample_board_pack(), 5}, {sample_pack(), 23}};
  for (const auto& [bytes, stride] : packs) {
    for (size_t at = 0; at < bytes.size(); at += stride) {
      Bytes damaged = flipped(bytes, at, some_bit(at));
      repair_pack(&damaged, 0);
      fuzz_pack(damaged.data(), damaged.size());
    }
  }
}

}  // namespace temper::test
