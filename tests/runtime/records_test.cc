#include <doctest/doctest.h>

#include <string>

#include "tests/runtime/ram_storage.h"
#include "tests/runtime/scanned_history.h"
#include "tests/runtime/test_pack.h"

namespace temper::test {
namespace {

// A space over a plain pack of run knobs; ids are 10, 11, ...
struct OpenSpace {
  explicit OpenSpace(const TestPack& pack) : open(pack) {
    space = Space(&open.view(), 0, &facts, {open.values(), open.intervals()});
  }
  OpenPack open;
  temper_facts facts = test_facts();
  Space space;
};

Config config_of(uint8_t first, uint8_t second) {
  Config config;
  config.choice[0] = first;
  config.choice[1] = second;
  return config;
}

FrameView view_of(const ScannedFrame& frame) {
  return {frame.type, frame.sequence, {frame.payload.data(), frame.payload.size()}};
}

struct Recorder {
  Recorder() : ram(1 << 14, 1, 0), writer(ram.storage()) { REQUIRE(writer.status.ok()); }
  // The last frame as a reader of the storage finds it.
  ScannedFrame last() {
    ScannedHistory reader(ram.storage());
    REQUIRE_FALSE(reader.frames.empty());
    return reader.frames.back();
  }
  RamStorage ram;
  ScannedHistory writer;
};

TEST_CASE("a trial is read back with its knob ids and values") {
  OpenSpace s(plain_pack({{1, 2, 4}, {8, 16}}));
  Recorder recorder;
  const TrialResult result{TEMPER_OUTCOME_TOO_SLOW, 123456789012u, 77, 4321, 9, true};
  REQUIRE(append_trial(recorder.writer.history, s.space, config_of(2, 1), 3, result).ok());
  const ScannedFrame frame = recorder.last();
  TrialView view;
  REQUIRE(read_trial(view_of(frame), &view).ok());
  CHECK(view.trial.workload() == s.space.workload().key);
  CHECK(view.trial.template_id() == s.space.view().id);
  CHECK(view.trial.template_version() == s.space.view().version);
  CHECK(view.trial.median_ns() == 123456789012u);
  CHECK(view.trial.spread_ns() == 77);
  CHECK(view.trial.build_us() == 4321);
  CHECK(view.trial.fingerprint() == 3);
  CHECK(view.trial.outcome() == TEMPER_OUTCOME_TOO_SLOW);
  CHECK(view.trial.sample_count() == 9);
  CHECK(view.trial.is_default() == 1);
  REQUIRE(view.knobs.size == 2);
  CHECK(view.knobs[0].id() == 10);
  CHECK(view.knobs[0].value() == 4);
  CHECK(view.knobs[1].id() == 11);
  CHECK(view.knobs[1].value() == 16);
  Config config;
  REQUIRE(config_from_knobs(s.space, view.knobs, &config).ok());
  CHECK(config == config_of(2, 1));
}

TEST_CASE("a spread that does not fit is saturated") {
  OpenSpace s(plain_pack({{1, 2}}));
  Recorder recorder;
  const TrialResult result{TEMPER_OUTCOME_OK, 1, uint64_t{1} << 40, 0, 3, false};
  REQUIRE(append_trial(recorder.writer.history, s.space, Config(), 0, result).ok());
  const ScannedFrame frame = recorder.last();
  TrialView view;
  REQUIRE(read_trial(view_of(frame), &view).ok());
  CHECK(view.trial.spread_ns() == UINT32_MAX);
}

TEST_CASE("commits and intents are read back") {
  OpenSpace s(plain_pack({{1, 2, 4}, {8, 16}}));
  Recorder recorder;
  REQUIRE(append_intent(recorder.writer.history, s.space, config_of(1, 0)).ok());
  const ScannedFrame intent_frame = recorder.last();
  IntentView intent;
  REQUIRE(read_intent(view_of(intent_frame), &intent).ok());
  CHECK(intent.intent.workload() == s.space.workload().key);
  CHECK(intent.knobs.size == 2);
  CHECK(intent.knobs[0].value() == 2);
  REQUIRE(append_commit(recorder.writer.history, s.space, config_of(0, 1), 2, {1000, 400, true}).ok());
  const ScannedFrame commit_frame = recorder.last();
  CommitView commit;
  REQUIRE(read_commit(view_of(commit_frame), &commit).ok());
  CHECK(commit.commit.default_ns() == 1000);
  CHECK(commit.commit.tuned_ns() == 400);
  CHECK(commit.commit.fingerprint() == 2);
  CHECK(commit.commit.kept_default() == 1);
  CHECK(commit.knobs[1].value() == 16);
  CHECK(commit.dims.empty());
}

TEST_CASE("a commit keeps as many of its workload's dimensions as fit, and one without is read as before") {
  for (const uint8_t dim_count : {uint8_t{3}, uint8_t{46}, uint8_t{47}}) {  // 32 + 2 x 4 + 46 x 4 = 224
    CAPTURE(dim_count);
    TestPack pack = plain_pack({{1, 2, 4}, {8, 16}});
    pack.templates[0].dim_count = dim_count;
    for (int32_t i = 0; i < dim_count; ++i) {
      pack.workloads[0].dims.push_back(i - 1);
    }
    OpenSpace s(pack);
    Recorder recorder;
    REQUIRE(append_commit(recorder.writer.history, s.space, config_of(0, 1), 2, {1000, 400, true}).ok());
    ScannedFrame frame = recorder.last();
    CommitView commit;
    REQUIRE(read_commit(view_of(frame), &commit).ok());
    CHECK(commit.knobs[1].value() == 16);
    const std::vector<int32_t> dims(commit.dims.begin(), commit.dims.end());
    std::vector<int32_t> kept = pack.workloads[0].dims;
    kept.resize(dim_count < 46 ? dim_count : 46);
    CHECK(dims == kept);
    frame.payload.resize(sizeof(format::Commit) + 2 * sizeof(format::KnobValue));
    REQUIRE(read_commit(view_of(frame), &commit).ok());
    CHECK(commit.knobs[1].value() == 16);
    CHECK(commit.dims.empty());
  }
}

TEST_CASE("fingerprints and workloads are read back; long names are cut") {
  Recorder recorder;
  const Fingerprint written = make_fingerprint(7, test_facts(), 8, 9, 10, 11);
  REQUIRE(append_fingerprint(recorder.writer.history, written).ok());
  ScannedFrame frame = recorder.last();
  Fingerprint fingerprint;
  REQUIRE(read_fingerprint(view_of(frame), &fingerprint).ok());
  CHECK(compare(written, fingerprint) == 0);
  CHECK(fingerprint.driver() == 9);

  TestPack pack = plain_pack({{1}});
  pack.workloads[0].name = std::string(600, 'n');
  pack.workloads[0].flops = 12345;
  pack.workloads[0].count = 6;
  OpenSpace s(pack);
  REQUIRE(append_workload(recorder.writer.history, s.space.workload()).ok());
  frame = recorder.last();
  WorkloadNameView workload;
  REQUIRE(read_workload(view_of(frame), &workload).ok());
  CHECK(workload.head.workload() == s.space.workload().key);
  CHECK(workload.head.flops() == 12345);
  CHECK(workload.head.count() == 6);
  CHECK(std::string(workload.name, workload.head.name_bytes()) == std::string(200, 'n'));
}

TEST_CASE("a record survives a space whose value lists have changed, and is not found where its value is gone") {
  OpenSpace old_space(plain_pack({{1, 2, 4}, {8, 16}}));
  Recorder recorder;
  const TrialResult result{TEMPER_OUTCOME_OK, 1, 0, 0, 3, false};
  REQUIRE(append_trial(recorder.writer.history, old_space.space, config_of(2, 0), 0, result).ok());
  const ScannedFrame frame = recorder.last();
  TrialView view;
  REQUIRE(read_trial(view_of(frame), &view).ok());
  OpenSpace wider(plain_pack({{1, 2, 3, 4, 6}, {4, 8, 16}}));
  Config config;
  REQUIRE(config_from_knobs(wider.space, view.knobs, &config).ok());
  CHECK(config == config_of(3, 1));
  OpenSpace without(plain_pack({{1, 2}, {8, 16}}));
  CHECK(config_from_knobs(without.space, view.knobs, &config) == TEMPER_NOT_FOUND);
  OpenSpace another_knob(plain_pack({{1, 2, 4}, {8, 16}, {0, 1}}));
  CHECK(config_from_knobs(another_knob.space, view.knobs, &config) == TEMPER_NOT_FOUND);
  const format::KnobValue many[TEMPER_MAX_KNOBS + 1];
  CHECK(config_from_knobs(wider.space, {many, TEMPER_MAX_KNOBS + 1}, &config) == TEMPER_NOT_FOUND);
}

TEST_CASE("a payload shorter than it says, of another type or of an unknown outcome is refused") {
  OpenSpace s(plain_pack({{1, 2, 4}, {8, 16}}));
  Recorder recorder;
  const TrialResult result{TEMPER_OUTCOME_OK, 1, 0, 0, 3, false};
  REQUIRE(append_trial(recorder.writer.history, s.space, config_of(2, 1), 0, result).ok());
  const ScannedFrame frame = recorder.last();
  TrialView trial;
  for (size_t bytes = 0; bytes < frame.payload.size(); ++bytes) {
    CHECK(read_trial({frame.type, 0, {frame.payload.data(), bytes}}, &trial) == TEMPER_BAD_DATA);
  }
  CommitView commit;
  IntentView intent;
  Fingerprint fingerprint;
  WorkloadNameView workload;
  CHECK(read_commit(view_of(frame), &commit) == TEMPER_BAD_DATA);
  CHECK(read_intent(view_of(frame), &intent) == TEMPER_BAD_DATA);
  CHECK(read_fingerprint(view_of(frame), &fingerprint) == TEMPER_BAD_DATA);
  CHECK(read_workload(view_of(frame), &workload) == TEMPER_BAD_DATA);
  const format::WorkloadName head(1, 2, 3, 4, 0);
  CHECK(read_workload({FrameType::kWorkload, 0, {reinterpret_cast<const uint8_t*>(&head), sizeof head}}, &workload) ==
        TEMPER_BAD_DATA);
  const format::Trial later(1, 2, 3, 4, 5, 6, 7, TEMPER_OUTCOME_COUNT, 0, 0, 0, 0);
  CHECK(read_trial({FrameType::kTrial, 0, {reinterpret_cast<const uint8_t*>(&later), sizeof later}}, &trial) ==
        TEMPER_BAD_DATA);
}

TEST_CASE("any byte of a record's payload may change without a read outside it") {
  OpenSpace s(plain_pack({{1, 2, 4}, {8, 16}}));
  Recorder recorder;
  REQUIRE(append_commit(recorder.writer.history, s.space, config_of(2, 1), 0, {2, 1, false}).ok());
  const ScannedFrame frame = recorder.last();
  for (size_t at = 0; at < frame.payload.size(); ++at) {
    // A copy of its own, so that an address sanitizer sees the end.
    std::vector<uint8_t> payload = frame.payload;
    payload[at] ^= 0xFF;
    CommitView view;
    if (read_commit({frame.type, 0, {payload.data(), payload.size()}}, &view).ok()) {
      Config config;
      const Status found = config_from_knobs(s.space, view.knobs, &config);
      CHECK((found.ok() || found == TEMPER_NOT_FOUND));
    }
  }
}

}  // namespace
TEST_CASE("configs survive as ids and values, in any order, and unknown ones are not found") {
  OpenPack pack(test::plain_pack({{1, 2, 4}, {8, 16}}));
  const temper_facts facts = test::test_facts();
  const Space space(&pack.view(), 0, &facts, {pack.values(), pack.intervals()});
  using Knobs = std::vector<format::KnobValue>;
  Config config;
  const auto read = [&](const Knobs& knobs) { return config_from_knobs(space, {knobs.data(), knobs.size()}, &config); };
  REQUIRE(read({{11, 16}, {10, 4}}).ok());
  CHECK(config.choice[0] == 2);
  CHECK(config.choice[1] == 1);
  CHECK(read({{11, 16}, {12, 4}}) == TEMPER_NOT_FOUND);
  CHECK(read({{10, 16}, {10, 4}}) == TEMPER_NOT_FOUND);
  CHECK(read({{11, 16}, {10, 3}}) == TEMPER_NOT_FOUND);
  CHECK(read({{11, 16}}) == TEMPER_NOT_FOUND);
  CHECK(read({{11, 16}, {10, 4}, {12, 1}}) == TEMPER_NOT_FOUND);
}

}  // namespace temper::test
