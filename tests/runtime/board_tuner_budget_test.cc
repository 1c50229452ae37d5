#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/runtime/sim_board.h"
#include "tests/runtime/sim_devices.h"

namespace temper::test {
namespace {

const TryingDevice kDevices[] = {
    {"quick", 1e5, 100000, SimFate::kOk, SimFate::kOk},
    {"tiny kernels", 300, 10000, SimFate::kOk, SimFate::kOk},
    {"slow default", 4e8, kMillisecond, SimFate::kOk, SimFate::kOk},
    {"very slow default", 4e9, kMillisecond, SimFate::kOk, SimFate::kOk},
    {"slow builds", 1e5, 10 * kMillisecond, SimFate::kOk, SimFate::kOk},
    {"hanging candidates", 1e5, kMillisecond, SimFate::kHangs, SimFate::kOk},
    {"hanging default", 1e5, kMillisecond, SimFate::kOk, SimFate::kHangs},
    {"everything hangs", 1e5, kMillisecond, SimFate::kHangs, SimFate::kHangs},
};

TEST_CASE("a run ends by budget + max(100 ms, 3 x slowest default), whatever the device does") {
  const uint64_t budgets_ms[] = {0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000};
  for (const uint32_t workloads : {1u, 60u}) {
    const OpenPack pack(many_workloads(workloads, kFourKnobs));
    for (const TryingDevice& device : kDevices) {
      for (const bool synchronous : {false, true}) {
        for (const uint64_t budget_ms : budgets_ms) {
          CAPTURE(workloads);
          CAPTURE(std::string(device.name));
          CAPTURE(budget_ms);
          CAPTURE(synchronous);
          SimBoard board(pack, make_device(device, synchronous));
          const uint64_t before = board.device.clock_ns;
          const Status status = board.run({budget_ms * kMillisecond, 0, 0});
          const uint64_t took = board.device.clock_ns - before;
          uint64_t slowest = 0;
          for (uint32_t w = 0; w < workloads; ++w) {
            slowest = std::max(slowest, board.default_ns(w));
            CHECK((board.trials_of(w) > 0 || !board.committed(w)));
          }
          CHECK(took <= budget_ms * kMillisecond + std::max<uint64_t>(100 * kMillisecond, 3 * slowest));
          if (budget_ms == 0) {
            CHECK(status == TEMPER_BUDGET_SPENT);
            CHECK(board.device.build_count == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("a budget that suffices is used, and what was gained is committed") {
  const OpenPack pack(many_workloads(10, kFourKnobs));
  BoardOptions options;
  options.max_trials = 20000;
  SimBoard board(pack, make_device(kDevices[0], false), options);
  CHECK(board.run({10 * kSecond, 0, 0}).ok());
  CHECK(board.progress.elapsed_ns <= 10 * kSecond);
  CHECK(board.progress.elapsed_ns >= 8 * kSecond);  // what rematches did not need went back to the search
  CHECK(board.tried.size() > 300);
  for (uint32_t w = 0; w < 10; ++w) {
    CHECK(board.committed(w));
    CHECK(!is_default(board.commit(w)));
  }
}

TEST_CASE("hundreds of workloads: a short budget measures defaults, a longer one tunes and confirms all") {
  const OpenPack pack(many_workloads(300, kFourKnobs));
  SimBoard brief(pack, make_device(kDevices[0], false));
  CHECK(brief.run({kSecond, 0, 0}).ok());
  CHECK(brief.tried.size() > 200);
  SimBoard longer(pack, make_device(kDevices[0], false));
  CHECK(longer.run({120 * kSecond, 0, 0}).ok());
  uint32_t tuned = 0;
  for (uint32_t w = 0; w < 300; ++w) {
    tuned += longer.committed(w) && !is_default(longer.commit(w)) ? 1 : 0;
  }
  CHECK(tuned >= 290);
}

TEST_CASE("a default cut by the budget is not taken for a failure") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimBoard board(pack, make_device(kDevices[3], false), on(storage));
  CHECK(board.run({100 * kMillisecond, 0, 0}) == TEMPER_BUDGET_SPENT);
  CHECK(board.tried.empty());
  SimBoard next(pack, make_device(kDevices[3], false), on(storage));
  CHECK(next.run({3600 * kSecond, 10, 0}).ok());
  CHECK(next.default_ns(0) > 3 * kSecond);
}

TEST_CASE("a slow default is measured with as many samples as the budget allows") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimBoard board(pack, make_device(kDevices[3], false));
  CHECK(board.run({25 * kSecond, 0, 0}).ok());
  CHECK(board.default_ns(0) > 3 * kSecond);
}

}  // namespace
}  // namespace temper::test
