#include "runtime/lookup.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "tests/runtime/toy_matmul.h"

namespace temper::test {
namespace {

constexpr uint32_t kHere = 7, kElsewhere = 9;

/// A look-up over the toy pack that is offered frames one by one.
struct Frames {
  Frames() : open(toy_pack(), toy_kernels, kToyKernelCount), facts(test_facts()) {
    here = made_on(kHere);
    Arena counting;
    const Lookup counted(counting, open.view(), nullptr, nullptr, {}, nullptr);
    memory.resize(counting.used / 8 + 1);
    Arena arena{reinterpret_cast<uint8_t*>(memory.data()), memory.size() * 8, 0};
    spaces = CurrentSpace(&open.view(), &facts, {open.values(), open.intervals()});
    lookup = Lookup(arena, open.view(), &spaces, &here, {}, nullptr);
    REQUIRE_FALSE(arena.overflowed());
    lookup.set_history(false);
  }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  Fingerprint made_on(uint32_t target) {
    return make_fingerprint(target, facts, 0, 0, open.view().pack_hash(), open.view().feature_version());
  }
  void offer(FrameType type, const void* bytes, size_t size) {
    std::vector<uint64_t> payload(size / 8 + 1);
    std::memcpy(payload.data(), bytes, size);
    lookup.offer({type, 0, {reinterpret_cast<const uint8_t*>(payload.data()), size}});
  }
  void fingerprint(uint32_t target) {
    const Fingerprint made = made_on(target);
    offer(FrameType::kFingerprint, &made, sizeof made);
  }
  void commit(uint16_t ordinal, uint16_t tile, uint16_t packed, uint16_t block, uint16_t version = 1) {
    struct {
      format::Commit head;
      format::KnobValue knobs[3];
    } frame{format::Commit(kToyWorkloadKey, 1000, 500, 1, version, ordinal, 3, 0),
            {format::KnobValue(1, tile), format::KnobValue(2, packed), format::KnobValue(3, block)}};
    offer(FrameType::kCommit, &frame, sizeof frame.head + sizeof frame.knobs);
  }
  temper_answer answer() {
    temper_answer result;
    Config config;
    REQUIRE(lookup.find(0, &config, &result).ok());
    return result;
  }

  OpenPack open;
  temper_facts facts;
  Fingerprint here{};
  std::vector<uint64_t> memory;
  Lookup lookup;
  CurrentSpace spaces;
};

}  // namespace

TEST_CASE("of several commits of a workload the last that is valid here answers") {
  Frames frames;
  frames.fingerprint(kHere);
  frames.commit(0, 1, 0, 4);
  frames.commit(0, 2, 0, 6);
  CHECK(frames.answer().source == TEMPER_SOURCE_HISTORY);
  CHECK(frames.answer().value[kToyTile] == 2);
  frames.fingerprint(kElsewhere);
  frames.commit(1, 4, 1, 12);
  CHECK(frames.answer().value[kToyTile] == 2);
  CHECK(frames.answer().fingerprint_fields[TEMPER_SOURCE_HISTORY] == 0);
  frames.commit(0, 4, 1, 12);
  CHECK(frames.answer().value[kToyTile] == 4);
}

TEST_CASE("a commit without its fingerprint, or of one long ago, counts as made elsewhere") {
  Frames frames;
  frames.commit(0, 2, 0, 6);
  CHECK(frames.answer().missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_FINGERPRINT);
  for (uint32_t i = 0; i <= kKnownFingerprints; ++i) {
    frames.fingerprint(kHere);
  }
  frames.commit(0, 2, 0, 6);
  CHECK(frames.answer().source == TEMPER_SOURCE_DEFAULT);
  frames.commit(1, 2, 0, 6);
  CHECK(frames.answer().source == TEMPER_SOURCE_HISTORY);
}

TEST_CASE("a commit of another template version, or with a value that the space lacks, is illegal") {
  Frames frames;
  frames.fingerprint(kHere);
  frames.commit(0, 2, 0, 6, 2);
  CHECK(frames.answer().missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_ILLEGAL);
  frames.commit(0, 2, 0, 7);
  CHECK(frames.answer().missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_ILLEGAL);
}

TEST_CASE("frames that are cut short are passed over") {
  Frames frames;
  frames.fingerprint(kHere);
  const format::Commit head(kToyWorkloadKey, 1000, 500, 1, 1, 0, 3, 0);
  frames.offer(FrameType::kCommit, &head, sizeof head);
  frames.offer(FrameType::kCommit, &head, 5);
  CHECK(frames.answer().missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_UNKNOWN_WORKLOAD);
  frames.offer(FrameType::kFingerprint, &head, 4);
  frames.commit(1, 2, 0, 6);
  CHECK(frames.answer().missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_FINGERPRINT);
}

TEST_CASE("a commit of this run answers at once") {
  Frames frames;
  Config config;
  config.choice[kToyTile] = 1;
  frames.lookup.record(0, config, 100, 60);
  const temper_answer answer = frames.answer();
  CHECK(answer.source == TEMPER_SOURCE_HISTORY);
  CHECK(answer.value[kToyTile] == 2);
  CHECK(answer.default_ns == 100);
  CHECK(answer.tuned_ns == 60);
}

}  // namespace temper::test
