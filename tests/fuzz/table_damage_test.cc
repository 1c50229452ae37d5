// Tuned tables, plain and baked, under every damage of one place: all of it is refused, with a reason. No byte is
// outside the checksum but its own, and a table without one is refused, so there is nothing to compare.
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/table_view.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/first_boot.h"
#include "tests/fuzz/loaders.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/samples.h"

namespace temper::test {
namespace {

bool refused(const Bytes& table) {
  TableView view;
  const char* reason = nullptr;
  const Status status = TableView::open({table.data(), table.size()}, &view, &reason);
  return !status.ok() && reason != nullptr && *reason != '\0' && view.count() == 0;
}

}  // namespace

TEST_CASE("a flipped byte of a table is refused with a reason") {
  for (const Bytes& bytes : {sample_table(kBootTarget), sample_baked_table()}) {
    REQUIRE_FALSE(refused(bytes));
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (uint32_t mask = 1; mask < 256; ++mask) {
        CAPTURE(at);
        CAPTURE(mask);
        REQUIRE(refused(flipped(bytes, at, static_cast<uint8_t>(mask))));
      }
    }
  }
}

TEST_CASE("a table that was cut or made longer is refused with a reason") {
  for (const Bytes& bytes : {sample_table(kBootTarget), sample_baked_table()}) {
    require_at_other_lengths(bytes, refused);
  }
}

TEST_CASE("words of a table that changed places are refused") {
  for (const Bytes& bytes : {sample_table(kBootTarget), sample_baked_table()}) {
    constexpr size_t kWord = 4;
    for (size_t a = 0; a + kWord <= bytes.size(); a += kWord) {
      for (size_t b = a + kWord; b + kWord <= bytes.size(); b += kWord) {
        Bytes swapped = bytes;
        std::swap_ranges(swapped.begin() + static_cast<std::ptrdiff_t>(a),
                         swapped.begin() + static_cast<std::ptrdiff_t>(a + kWord),
                         swapped.begin() + static_cast<std::ptrdiff_t>(b));
        REQUIRE((swapped == bytes || refused(swapped)));
      }
    }
  }
}

TEST_CASE("a flipped byte under a new checksum is refused or read inside the table") {
  const Bytes plain = sample_table(kBootTarget), baked = sample_baked_table();
  for (size_t at = 0; at < plain.size(); ++at) {
    for (const uint8_t mask : kEachBit) {
      Bytes damaged = flipped(plain, at, mask);
      repair_table(&damaged, 0);
      fuzz_table(damaged.data(), damaged.size());
    }
  }
  for (size_t at = 0; at < baked.size(); ++at) {
    for (const uint8_t mask : kEachBit) {
      Bytes damaged = flipped(baked, at, mask);
      repair_table(&damaged, 0);
      fuzz_winners(damaged.data(), damaged.size());
    }
  }
}

}  // namespace temper::test
