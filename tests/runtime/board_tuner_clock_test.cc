#include <doctest/doctest.h>

#include "tests/runtime/sim_board.h"
#include "tests/runtime/sim_clocks.h"

namespace temper::test {
namespace {

constexpr uint64_t kBudget = 6 * kSecond;

TEST_CASE(
    "a clock that jumps or stands in the middle of a run: it ends, keeps its budget, and commits nothing slower") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  uint32_t runs = 0, slower = 0, commits = 0, completed = 0;
  for (uint64_t at = 10 * kMillisecond; at < kBudget; at += 97 * kMillisecond) {
    for (const BrokenClock& clock : broken_clocks(at)) {
      CAPTURE(clock.name);
      CAPTURE(at);
      SimBoard board(pack, clock_device(clock, at, true));
      const Status status = board.run({kBudget, 0, 0});
      CHECK((status.ok() || status == TEMPER_BUDGET_SPENT || status == TEMPER_PORT_ERROR));
      // A jump hides at most the step that it falls into.
      CHECK(board.device.clock_ns - kClockStart < kBudget + clock.hidden_ns + 400 * kMillisecond);
      ++runs;
      completed += board.commit_count() == 3 ? 1 : 0;
      for (uint32_t w = 0; w < 3; ++w) {
        commits += board.committed(w) ? 1 : 0;
        slower += board.committed(w) && clock_landscape(w, board.commit(w)) > 1.01e6 ? 1 : 0;
      }
    }
  }
  MESSAGE(runs << " runs, " << completed << " completed, " << commits << " commits, " << slower << " of them slower");
  CHECK(slower == 0);
  CHECK(commits > runs);
}

TEST_CASE("a run that a jumping clock ended early is taken up by the next") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  for (const BrokenClock& clock : broken_clocks(700 * kMillisecond)) {
    CAPTURE(clock.name);
    RamStorage storage(1 << 20, 1, 0);
    size_t tried = 0;
    {
      SimBoard first(pack, clock_device(clock, 1, true), on(storage));
      (void)first.run({kBudget, 0, 0});
      tried = first.tried.size();
    }
    CHECK(tried > 0);
    SimOptions sound = clock_device(clock, 2, true);
    sound.clock = nullptr;
    SimBoard second(pack, sound, on(storage));
    CHECK(second.run({10 * kBudget, 0, 60}).ok());
    CHECK(second.commit_count() == 3);
    SimBoard third(pack, sound, on(storage));
    CHECK(third.run({10 * kBudget, 0, 60}).ok());
    CHECK(third.tried.empty());
  }
}

}  // namespace
}  // namespace temper::test
