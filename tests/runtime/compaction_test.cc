#include "runtime/compaction.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/scanned_history.h"
#include "tests/runtime/sim_board.h"
#include "tests/runtime/sim_devices.h"

namespace temper::test {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kCommitted = 1000, kOpen = 1001, kUnknownKey = 7;  // keys of workloads
constexpr uint16_t kElsewhere = 0, kHere = 1;                         // ordinals of fingerprints

template <class Head>
Bytes record(const Head& head, const std::vector<uint16_t>& values) {
  Bytes payload(sizeof head + values.size() * sizeof(format::KnobValue));
  std::memcpy(payload.data(), &head, sizeof head);
  for (size_t k = 0; k < values.size(); ++k) {
    const format::KnobValue knob(static_cast<uint16_t>(10 + k), values[k]);
    std::memcpy(payload.data() + sizeof head + k * sizeof knob, &knob, sizeof knob);
  }
  return payload;
}

Bytes intent_of(uint64_t key, const std::vector<uint16_t>& values) {
  return record(format::Intent(key, 1, 1, 4, 0, 0), values);
}

Bytes trial_of(uint64_t key, const std::vector<uint16_t>& values, uint16_t ordinal,
               temper_outcome outcome = TEMPER_OUTCOME_OK, bool is_default = false) {
  const bool timed = outcome == TEMPER_OUTCOME_OK;
  return record(format::Trial(key, timed ? 50000 : 0, 10, 0, 1, 1, ordinal, static_cast<uint8_t>(outcome), 5, 4,
                              is_default ? 1 : 0, 0),
                values);
}

Bytes commit_of(uint64_t key, const std::vector<uint16_t>& values, uint16_t ordinal, uint64_t tuned_ns) {
  return record(format::Commit(key, 60000, tuned_ns, 1, 1, ordinal, 4, 0), values);
}

Bytes name_of(uint64_t key) { return record(format::WorkloadName(key, 1, 1, 0, 0), {}); }

Bytes fingerprint_of(uint64_t target) {
  const Fingerprint made = make_fingerprint(target, test_facts(), 1, 0, 0x1234, 1);
  Bytes payload(sizeof made);
  std::memcpy(payload.data(), &made, sizeof made);
  return payload;
}

struct Written {
  FrameType type;
  Bytes payload;
  uint32_t level;  ///< dropped from it on; 4: never

  bool operator==(const Written&) const = default;
};

constexpr uint32_t kNever = 4;

// One of each kind that is told apart.
std::vector<Written> all_kinds() {
  const auto intent = FrameType::kIntent, trial = FrameType::kTrial, commit = FrameType::kCommit;
  const std::vector<uint16_t> winner = {4, 4, 4, 4}, standard = {1, 1, 1, 1};
  return {
      {FrameType::kFingerprint, fingerprint_of(2), kNever},
      {FrameType::kFingerprint, fingerprint_of(1), kNever},
      {FrameType::kWorkload, name_of(kCommitted), kNever},
      {FrameType::kWorkload, name_of(kUnknownKey), 3},
      {intent, intent_of(kCommitted, {8, 8, 1, 1}), kNever},  // open: the next frame is no trial of it
      {intent, intent_of(kCommitted, {1, 2, 1, 1}), 0},
      {trial, trial_of(kCommitted, {1, 2, 1, 1}, kHere), 2},
      {intent, intent_of(kCommitted, {1, 3, 1, 1}), kNever},  // open: the trial behind it is of another config
      {trial, trial_of(kCommitted, {1, 4, 1, 1}, kHere, TEMPER_OUTCOME_TOO_SLOW), 2},
      {intent, intent_of(kOpen, {1, 4, 1, 1}), kNever},  // and here of another workload
      {trial, trial_of(kCommitted, {1, 4, 1, 1}, kHere, TEMPER_OUTCOME_BUILD_ERROR), 2},
      {trial, trial_of(kCommitted, {2, 1, 1, 1}, kHere, TEMPER_OUTCOME_CRASHED), kNever},
      {trial, trial_of(kCommitted, {2, 2, 1, 1}, kHere, TEMPER_OUTCOME_TIMEOUT), kNever},
      {trial, trial_of(kCommitted, {2, 3, 1, 1}, kHere, TEMPER_OUTCOME_WRONG_RESULT), kNever},
      {trial, trial_of(kCommitted, standard, kHere, TEMPER_OUTCOME_OK, true), kNever},
      {trial, trial_of(kCommitted, winner, kHere), kNever},
      {trial, trial_of(kCommitted, winner, kElsewhere), 1},
      {trial, trial_of(kOpen, winner, kElsewhere), 2},
      {trial, trial_of(kOpen, winner, kHere), kNever},
      {trial, trial_of(kUnknownKey, winner, kHere), 3},
      {commit, commit_of(kCommitted, winner, kHere, 45000), 1},
      {commit, commit_of(kCommitted, {3, 3, 3, 3}, kHere, 30000), 1},
      {commit, commit_of(kCommitted, winner, kHere, 30000), kNever},
      {commit, commit_of(kCommitted, winner, kElsewhere, 20000), 3},
      {commit, commit_of(kOpen, winner, kElsewhere, 20000), 3},
      {static_cast<FrameType>(200), {1, 2, 3}, 3},
      {intent, intent_of(kOpen, {5, 5, 5, 5}), kNever},  // the last frame
  };
}

std::vector<Written> frames_on(const temper_storage* storage) {
  std::vector<Written> frames;
  for (const ScannedFrame& frame : ScannedHistory(storage).frames) {
    frames.push_back({frame.type, frame.payload, 0});
  }
  return frames;
}

void write_all(const temper_storage* storage, const std::vector<Written>& frames) {
  ScannedHistory scanned(storage);
  REQUIRE(scanned.status.ok());
  for (const Written& frame : frames) {
    REQUIRE(scanned.append(frame.type, frame.payload).ok());
  }
}

SimOptions board_device() {
  SimOptions sim = crashing_bowl_device(1);
  sim.synchronous = true;
  return sim;
}

Status compact(SimBoard& board, uint32_t* steps = nullptr, uint16_t* dropped = nullptr) {
  Compaction compaction(&board.history, &board.lookup, &board.spaces, Compaction::Extent::kAll);
  Status status = TEMPER_MORE;
  for (uint32_t i = 0; status == TEMPER_MORE; ++i) {
    REQUIRE(i < 10000);
    status = compaction.step();
    if (steps != nullptr) {
      *steps = i + 1;
    }
  }
  if (dropped != nullptr) {
    *dropped = compaction.dropped_fingerprints();
  }
  return status;
}

// What is to be kept of them in a region of that size: at the mildest level that leaves a quarter and room for a trial.
bool expected_of(const std::vector<Written>& frames, uint32_t region_bytes, uint32_t program_bytes,
                 std::vector<Written>* kept, uint32_t* level) {
  const uint32_t room = region_bytes / 4 + trial_room_bytes(program_bytes) + 2 * frame_bytes(8, program_bytes);
  for (*level = 0; *level < kNever; ++*level) {
    kept->clear();
    uint32_t bytes = room;
    for (const Written& frame : frames) {
      if (frame.level > *level) {
        bytes += frame_bytes(frame.payload.size(), program_bytes);
        kept->push_back({frame.type, frame.payload, 0});
      }
    }
    if (bytes <= region_bytes) {
      return true;
    }
  }
  return false;
}

TEST_CASE("each kind of frame is dropped from its level on, and the mildest level that frees enough is taken") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  std::set<uint32_t> levels;
  for (uint32_t filler = 0; filler < 80; ++filler) {
    CAPTURE(filler);
    RamStorage ram(2 * 8192, 8, 1024);
    std::vector<Written> frames = all_kinds();
    for (uint32_t i = 0; i < filler; ++i) {
      const Bytes kept = trial_of(kOpen, {8, 8, 6, static_cast<uint16_t>(1 + i % 6)}, kHere);
      frames.insert(frames.end() - 1, {FrameType::kTrial, kept, kNever});
    }
    write_all(ram.storage(), frames);
    SimBoard board(pack, board_device(), on(ram));
    REQUIRE(board.committed(0));
    REQUIRE_FALSE(board.committed(1));
    std::vector<Written> expected;
    uint32_t level = kNever, steps = 0;
    const bool fits = expected_of(frames, 8192, 8, &expected, &level);
    levels.insert(level);
    if (fits) {
      CHECK(compact(board, &steps).ok());
      CHECK(steps > 8 + frames.size());
      CHECK(frames_on(ram.storage()) == expected);
      CHECK(board.history.generation() == 2);
      CHECK(board.history.room_bytes() >= 8192 / 4 + trial_room_bytes(8));
      CHECK(ram.erases() == 8);
      CHECK(board.history.append(FrameType::kTrial, {}).ok());
    } else {
      CHECK(compact(board) == TEMPER_STORAGE_FULL);
      CHECK(board.history.writable());
      CHECK(ram.erases() == 0);
      CHECK(frames_on(ram.storage()).size() == frames.size());
    }
    CHECK_FALSE(ram.misused());
  }
  CHECK(levels == std::set<uint32_t>{0, 1, 2, 3, kNever});
}

TEST_CASE("fingerprints before the last 16 are dropped, and records keep theirs or refer to none") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  for (const uint32_t count : {16u, 17u, 31u, 32u, 47u, 48u}) {
    CAPTURE(count);
    RamStorage ram(2 * 32768, 8, 4096);
    std::vector<Written> frames;
    for (uint32_t i = 0; i < count; ++i) {
      const bool here = i % 3 == 2;
      frames.push_back({FrameType::kFingerprint, fingerprint_of(here ? 1 : 100 + i), kNever});
      frames.push_back({FrameType::kTrial, trial_of(kOpen, {4, 4, 4, 4}, static_cast<uint16_t>(i)), kNever});
    }
    write_all(ram.storage(), frames);
    SimBoard board(pack, board_device(), on(ram));
    const auto same_devices = [&] {
      std::vector<bool> same;
      for (const ScannedFrame& frame : ScannedHistory(ram.storage()).frames) {
        TrialView view;
        if (read_trial({frame.type, 0, {frame.payload.data(), frame.payload.size()}}, &view).ok()) {
          same.push_back(board.lookup.same_device(view.trial.fingerprint()));
        }
      }
      return same;
    };
    const std::vector<bool> before = same_devices();
    uint16_t dropped = 0;
    REQUIRE(compact(board, nullptr, &dropped).ok());
    CHECK(dropped == (count < 16 ? 0 : count - 16));
    CHECK(board.lookup.fingerprint_count() == count - dropped);
    CHECK(same_devices() == before);
    // A boot later tells the same of them.
    SimBoard next(pack, board_device(), on(ram));
    uint32_t trial = 0;
    for (const ScannedFrame& frame : ScannedHistory(ram.storage()).frames) {
      TrialView view;
      if (read_trial({frame.type, 0, {frame.payload.data(), frame.payload.size()}}, &view).ok()) {
        CHECK(next.lookup.same_device(view.trial.fingerprint()) == before[trial++]);
      }
    }
    CHECK(trial == count);
  }
}

std::set<std::string> trials_on(const temper_storage* storage) {
  std::set<std::string> texts;
  for (const ScannedFrame& frame : ScannedHistory(storage).frames) {
    TrialView view;
    if (read_trial({frame.type, 0, {frame.payload.data(), frame.payload.size()}}, &view).ok()) {
      texts.insert(std::string(reinterpret_cast<const char*>(view.knobs.data), view.knobs.size * 4) +
                   std::to_string(view.trial.workload()));
    }
  }
  return texts;
}

constexpr temper_budget kLong = {3600 * kSecond, 0, 25};

TEST_CASE("a run far longer than its flash commits everything, wears it no more than told, and is taken up") {
  const OpenPack pack(many_workloads(12, kFourKnobs));
  RamStorage ram(2 * 8192, 8, 1024);
  uint32_t commits = 0;
  {
    SimBoard board(pack, board_device(), on(ram));
    CHECK(board.run(kLong).ok());
    CHECK(board.device.logged.empty());
    CHECK(board.history.writable());
    CHECK(board.history.generation() > 2);
    CHECK(ram.erases() == 8u * (board.history.generation() - 1));
    // An intent and a trial of four knobs take 48 and 72 bytes.
    CHECK(ram.erases() * 1024 <= board.tried.size() * (48 + 72) * 4);
    commits = board.commit_count();
    CHECK(commits == 12);
  }
  SimBoard second(pack, board_device(), on(ram));
  CHECK(second.commit_count() == commits);
  CHECK(second.run(kLong).ok());
  CHECK(second.tried.empty());
  CHECK_FALSE(ram.misused());
}

TEST_CASE("flash too small for a search ends it early, and its commit makes room for the others") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  const temper_budget budget = {3600 * kSecond, 0, 200};
  RamStorage ram(2 * 8192, 8, 1024);
  {
    SimBoard board(pack, board_device(), on(ram));
    CHECK(board.run(budget).ok());
    CHECK(board.device.logged.empty());
    CHECK(board.commit_count() == 3);
    for (uint32_t w = 0; w < 3; ++w) {
      CHECK(board.trials_of(w) > 30);
      CHECK(board.trials_of(w) < 100);
    }
  }
  SimBoard second(pack, board_device(), on(ram));
  CHECK(second.commit_count() == 3);
}

TEST_CASE(
    "a run that collects drops no trial of this device for room: its flash is full some day, which is told once") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  RamStorage ram(2 * 8192, 8, 1024);
  SimBoard board(pack, board_device(), on(ram));
  REQUIRE(board.run({3600 * kSecond, 0, 8}).ok());
  REQUIRE(board.commit_count() == 2);
  const std::set<std::string> tuned = trials_on(ram.storage());
  REQUIRE(board.start({3600 * kSecond, 0, 100}, RunPurpose::kCollect).ok());
  CHECK(board.finish().ok());
  CHECK(board.history.generation() == 2);
  CHECK(board.device.logged.size() == 1);
  const std::set<std::string> all = trials_on(ram.storage());
  CHECK(all.size() > tuned.size() + 40);
  CHECK(std::includes(all.begin(), all.end(), tuned.begin(), tuned.end()));
}

TEST_CASE("flash found full of trials without a commit is not given up: they are committed") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  RamStorage ram(2 * 8192, 8, 1024);
  {
    SimBoard board(pack, board_device(), on(ram));
    REQUIRE(board.start({3600 * kSecond, 0, 200}).ok());
    REQUIRE(board.run_trials(2) == TEMPER_MORE);  // the defaults
    while (board.history.generation() == 1 || board.history.room_bytes() >= trial_room_bytes(8)) {
      REQUIRE(board.step() == TEMPER_MORE);
    }
    REQUIRE(board.commit_count() == 0);
    REQUIRE(board.tried.size() > 40);
  }
  SimBoard second(pack, board_device(), on(ram));
  CHECK(second.run({3600 * kSecond, 0, 200}).ok());
  CHECK(second.device.logged.empty());
  CHECK(second.commit_count() == 2);
  SimBoard third(pack, board_device(), on(ram));
  CHECK(third.commit_count() == 2);
}

TEST_CASE("power cut at any operation of a run that compacts: trials of workloads without a commit stay, commits too") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  const temper_budget budget = {3600 * kSecond, 0, 16};
  uint32_t operations = 0;
  {
    RamStorage ram(2 * 4096, 16, 1024);
    SimBoard whole(pack, board_device(), on(ram));
    REQUIRE(whole.run(budget).ok());
    REQUIRE(whole.history.generation() > 1);
    operations = ram.operations();
  }
  for (uint32_t cut = 0; cut < operations; ++cut) {
    CAPTURE(cut);
    RamStorage ram(2 * 4096, 16, 1024);
    std::vector<BoardTrial> tried;
    std::vector<bool> committed;
    {
      SimBoard first(pack, board_device(), on(ram));
      ram.cut_power_after(cut);
      REQUIRE(first.start(budget).ok());
      while (first.device.logged.empty() && first.step() == TEMPER_MORE) {
      }
      tried = first.tried;
      if (!first.device.logged.empty() && !tried.empty()) {
        tried.pop_back();  // its record, or what followed, was cut
      }
    }
    ram.restore_power();
    const std::set<std::string> kept = trials_on(ram.storage());
    SimBoard second(pack, board_device(), on(ram));
    for (const BoardTrial& trial : tried) {
      if (!second.committed(trial.workload)) {
        std::string knobs(16, '\0');
        second.spaces.select(trial.workload);
        for (uint32_t k = 0; k < 4; ++k) {
          const format::KnobValue knob(static_cast<uint16_t>(10 + k),
                                       static_cast<uint16_t>(trial.config.choice[k] + 1));
          std::memcpy(&knobs[4 * k], &knob, sizeof knob);
        }
        REQUIRE(kept.count(knobs + std::to_string(1000 + trial.workload)) == 1);
      }
    }
    REQUIRE(second.run(budget).ok());
    CHECK(second.commit_count() == 3);
    CHECK_FALSE(ram.misused());
  }
}

// Storage with room for less than a trial, most of it droppable.
void fill_up(RamStorage& ram, const OpenPack& pack) {
  SimBoard board(pack, board_device(), on(ram));
  REQUIRE(board.run({3600 * kSecond, 0, 8}).ok());
  REQUIRE(board.committed(0));
  while (board.history.room_bytes() >= trial_room_bytes(8)) {
    const Bytes trial = trial_of(kCommitted, {3, 2, 1, 1}, 0);
    REQUIRE(board.history.append(FrameType::kTrial, {trial.data(), trial.size()}).ok());
  }
}

TEST_CASE("a budget that ends amid a compaction leaves the history as it was") {
  const OpenPack one(many_workloads(1, kFourKnobs)), two(many_workloads(2, kFourKnobs));
  RamStorage ram(2 * 8192, 8, 1024);
  fill_up(ram, one);
  const std::vector<Written> before = frames_on(ram.storage());
  SimBoard board(two, board_device(), on(ram));
  REQUIRE(board.start({kSecond, 0, 8}).ok());
  for (uint32_t i = 0; i < before.size() + 10; ++i) {
    REQUIRE(board.step() == TEMPER_MORE);
  }
  CHECK(ram.erases() > 0);
  board.device.clock_ns += 2 * kSecond;
  CHECK(board.finish() == TEMPER_BUDGET_SPENT);
  CHECK(board.tried.empty());
  CHECK(board.device.logged.empty());
  CHECK(board.history.writable());
  CHECK(board.history.generation() == 1);
  CHECK(frames_on(ram.storage()) == before);
  CHECK(board.run(kLong).ok());
  CHECK(board.history.generation() == 2);
  CHECK(board.commit_count() == 2);
}

TEST_CASE("flash that cannot be erased or is worn is told once, and nothing that it holds is lost") {
  const OpenPack one(many_workloads(1, kFourKnobs)), two(many_workloads(2, kFourKnobs));
  for (const bool erase : {true, false}) {
    RamStorage ram(2 * 8192, 8, 1024);
    fill_up(ram, one);
    const std::vector<Written> before = frames_on(ram.storage());
    if (erase) {
      ram.unerasable_offset = 8192 + 3072;
    } else {
      ram.stuck_offset = 8192 + 24 + 4;  // the sequence of the first copied frame, 1
    }
    SimBoard board(two, board_device(), on(ram));
    CHECK(board.run(kLong).ok());
    CHECK(board.commit_count() == 2);
    REQUIRE(board.device.logged.size() == 1);
    CHECK(board.device.logged[0].find("memory only") != std::string::npos);
    CHECK(frames_on(ram.storage()) == before);
  }
}

TEST_CASE("flash full of what must be kept is told once, and never erased; so is a file, which has one region") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  RamStorage flash(2 * 4096, 8, 1024), file(3900, 1, 0);
  for (RamStorage* ram : {&flash, &file}) {
    std::vector<Written> frames = {{FrameType::kFingerprint, fingerprint_of(1), kNever}};
    for (uint16_t i = 0; i < 44; ++i) {
      const uint16_t third = static_cast<uint16_t>(1 + i % 6);
      frames.push_back({FrameType::kTrial, trial_of(kOpen, {8, 8, third, 1}, 0, TEMPER_OUTCOME_CRASHED), kNever});
    }
    write_all(ram->storage(), frames);
    for (uint32_t boot = 0; boot < 2; ++boot) {
      SimBoard board(pack, board_device(), on(*ram));
      CHECK(board.run(kLong).ok());
      CHECK(board.device.logged.size() == 1);
      CHECK(board.commit_count() == 2);
      for (const BoardTrial& trial : board.tried) {  // what crashed is not tried again, although nothing is written
        CHECK((trial.workload != 1 || trial.config.choice[0] != 7 || trial.config.choice[1] != 7 ||
               trial.config.choice[3] != 0));
      }
    }
    CHECK(ram->erases() == 0);
    std::vector<Written> found = frames_on(ram->storage());
    REQUIRE(found.size() >= frames.size());
    found.resize(frames.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      CHECK(found[i].payload == frames[i].payload);
    }
  }
}

}  // namespace
}  // namespace temper::test
