// Devices that are tuned anew until their flash wears out: nothing that was recorded is lost when it does.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/power_loss/device_diary.h"

namespace temper::test {
namespace {

constexpr uint32_t kEndurance = 6;
constexpr uint32_t kMostBoots = 400;
constexpr uint32_t kBootsBehind = 4;  ///< behind the one in which a block failed

struct WearTally {
  uint32_t boots = 0, trials = 0, erases = 0, most = 0, least = 0;
  uint64_t checked = 0;
};

/// Every boot is another device's, so that each tunes; behind the first failure the last one boots again and again.
WearTally wear_out(const SimLife& life, const StorageShape& shape, WornOut how, uint64_t seed) {
  StorageImage image(shape);
  DeviceDiary diary(Pressure::kHigh);
  WearTally tally;
  uint32_t device = 0, behind = 0;
  for (; tally.boots < kMostBoots && behind < kBootsBehind; ++tally.boots) {
    CAPTURE(tally.boots);
    device += behind == 0 ? 1 : 0;
    SimFlash flash(shape, image, seed + tally.boots);
    flash.wear_out_after(kEndurance, how, seed);
    const BootResult result = life.boot({StageKind::kTune, device, 4, seed}, &flash);
    const std::string fault = flash.faults().empty() ? "" : flash.faults().front();
    CHECK(fault == "");
    CHECK(result.status == TEMPER_OK);
    CHECK(result.committed == life.workload_count());
    CHECK((!result.memory_only || flash.has_failed() || behind > 0));
    tally.trials += behind == 0 ? result.trials : 0;
    for (const Promise& promise : result.promises) {
      diary.write(promise);
    }
    image = flash.image();
    const ReadHistory history = read_history(shape, image);
    CHECK(diary.complaint(history, device) == "");
    tally.checked += diary.trial_count();
    diary.forget_dropped(history);
    if (behind == 0) {
      const auto [least, most] = std::minmax_element(image.erases.begin(), image.erases.end());
      tally.least = *least;
      tally.most = *most;
      tally.erases = std::accumulate(image.erases.begin(), image.erases.end(), 0u);
    }
    behind += behind > 0 || flash.has_failed() ? 1 : 0;
  }
  CHECK(behind == kBootsBehind);
  return tally;
}

TEST_CASE("flash that wears out keeps what was recorded, is never misused, and wears evenly") {
  const SimLife life(2);
  const std::pair<const char*, WornOut> ways[] = {{"erase fails", WornOut::kEraseFails},
                                                  {"program fails", WornOut::kProgramFails},
                                                  {"bits stick", WornOut::kBitsStick}};
  for (const StorageShape& shape : {StorageShape{8192, 8, 1024}, StorageShape{16384, 32, 4096}}) {
    for (const auto& [name, how] : ways) {
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        CAPTURE(std::string(name));
        CAPTURE(seed);
        const WearTally tally = wear_out(life, shape, how, seed);
        CHECK(tally.most - tally.least <= 1);
        MESSAGE(std::string(name) << ", blocks of " << shape.erase_bytes << ": " << tally.boots << " boots, "
                                  << tally.checked << " trials checked, " << 1000.0 * tally.erases / tally.trials
                                  << " erases per thousand trials, " << tally.least << " to " << tally.most
                                  << " of each block");
      }
    }
  }
}

}  // namespace
}  // namespace temper::test
