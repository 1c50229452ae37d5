#include "tools/history_merge.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "runtime/lookup.h"
#include "tests/tools/history_samples.h"
#include "tools/memory_storage.h"

namespace temper {
namespace {

using test::sample_history;
using test::SampleSize;
using Bytes = std::vector<uint8_t>;

HistoryRecords records_of(const Bytes& history) {
  const Result<HistorySource> source =
      parse_history("F", {reinterpret_cast<const char*>(history.data()), history.size()});
  REQUIRE(source);
  return read_records(*source);
}

Bytes merged(const std::vector<Bytes>& histories) {
  std::vector<HistoryRecords> records;
  for (const Bytes& history : histories) {
    records.push_back(records_of(history));
  }
  const Result<MergedHistory> result = merge_histories(records);
  REQUIRE(result);
  return result->bytes;
}

/// A record with the fingerprint that it was made under, as text that can be compared between histories.
std::vector<std::string> contents(const HistoryRecords& records, const std::vector<HistoryRecord>& of) {
  std::vector<std::string> all;
  for (const HistoryRecord& record : of) {
    const Fingerprint& fingerprint = records.fingerprints[record.fingerprint];
    std::string text(reinterpret_cast<const char*>(&fingerprint), sizeof fingerprint);
    all.push_back(text.append(record.payload.begin(), record.payload.end()));
  }
  std::sort(all.begin(), all.end());
  return all;
}

template <class T>
std::vector<T> unique(std::vector<T> sorted) {
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

/// Few different values, so that duplicates within and between histories are common.
SampleSize crowded(std::mt19937_64& random) {
  return {static_cast<uint32_t>(1 + random() % 3),
          2,
          static_cast<uint32_t>(random() % 30),
          static_cast<uint32_t>(random() % 8),
          static_cast<uint32_t>(random() % 2),
          1,
          2};
}

TEST_CASE("merging is commutative, associative and idempotent to the byte") {
  std::mt19937_64 random(1);
  for (uint64_t round = 0; round < 60; ++round) {
    CAPTURE(round);
    const Bytes a = sample_history(3 * round, crowded(random)), b = sample_history(3 * round + 1, crowded(random)),
                c = sample_history(3 * round + 2, crowded(random));
    const Bytes all = merged({a, b, c});
    CHECK(merged({c, a, b}) == all);
    CHECK(merged({b, a, c, a}) == all);
    CHECK(merged({merged({a, b}), c}) == all);
    CHECK(merged({a, merged({c, b})}) == all);
    CHECK(merged({merged({a}), merged({b}), merged({c})}) == all);
    CHECK(merged({all, all, b}) == all);
    CHECK(merged({all}) == all);
  }
}

TEST_CASE("nothing is lost and nothing is made up: every record under its fingerprint") {
  std::mt19937_64 random(2);
  for (uint64_t round = 0; round < 40; ++round) {
    CAPTURE(round);
    const HistoryRecords a = records_of(sample_history(100 + 2 * round, crowded(random))),
                         b = records_of(sample_history(101 + 2 * round, crowded(random)));
    const Result<MergedHistory> result = merge_histories({a, b});
    REQUIRE(result);
    const HistoryRecords joined = records_of(result->bytes);
    CHECK(joined.lost_frames + joined.orphans + joined.unreadable + joined.damaged_bytes == 0);
    CHECK(joined.trials.size() == result->trials);
    CHECK(joined.commits.size() == result->commits);
    std::vector<std::string> of_a = contents(a, a.trials), of_b = contents(b, b.trials), either;
    std::set_union(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(either));
    CHECK(contents(joined, joined.trials) == either);
    of_a = unique(contents(a, a.commits)), of_b = unique(contents(b, b.commits));
    either.clear();
    std::set_union(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(either));
    CHECK(contents(joined, joined.commits) == either);
    CHECK(joined.workloads.size() == std::max(a.workloads.size(), b.workloads.size()));
  }
}

TEST_CASE("the result is a history that the device core opens and appends to") {
  const Bytes bytes = merged({sample_history(7), sample_history(8)});
  MemoryStorage storage(bytes, MemoryStorage::Manners::kFile);
  alignas(8) uint8_t buffer[kHistoryBufferBytes];
  History history;
  ScanReport report{};
  REQUIRE(history.open(storage.storage(), {buffer, sizeof buffer}, nullptr, nullptr, &report).ok());
  CHECK(report.damaged_bytes == 0);
  CHECK(report.end_offset == bytes.size());
  CHECK(append_fingerprint(history, Fingerprint()).ok());
  CHECK(storage.bytes().size() > bytes.size());
}

struct Commit {
  uint32_t core_type, clock_khz;
  uint64_t default_ns, tuned_ns;
  bool kept_default = false;
};

/// Histories of one commit each, or of several in that order.
Bytes history_of(const std::vector<Commit>& commits) {
  MemoryStorage storage({}, MemoryStorage::Manners::kFile);
  alignas(8) uint8_t buffer[kHistoryBufferBytes];
  History history;
  ScanReport report{};
  REQUIRE(history.open(storage.storage(), {buffer, sizeof buffer}, nullptr, nullptr, &report).ok());
  uint16_t ordinal = 0;
  for (const Commit& c : commits) {
    const Fingerprint fingerprint(1, c.core_type, 1, 1, 4, 8, 0, 0, 0, c.clock_khz, 50, 0, 0, 0, 0, 0);
    REQUIRE(append_fingerprint(history, fingerprint).ok());
    const format::Commit commit(5, c.default_ns, c.tuned_ns, 1, 1, ordinal++, 0, c.kept_default ? 1 : 0);
    REQUIRE(history.append(FrameType::kCommit, {reinterpret_cast<const uint8_t*>(&commit), sizeof commit}).ok());
  }
  return storage.bytes();
}

uint64_t last_commit_on(const HistoryRecords& records, uint32_t core_type) {
  uint64_t tuned_ns = 0;
  for (const HistoryRecord& record : records.commits) {
    if (records.fingerprints[record.fingerprint].core_type() == core_type) {
      tuned_ns = commit_of(record).commit.tuned_ns();
    }
  }
  return tuned_ns;
}

TEST_CASE("of several commits on one device the one with the greatest gain in its own rematch counts") {
  const Commit slight{1, 1000, 1000, 950}, great{1, 1000, 2000, 1500}, kept{1, 1000, 900, 900, true};
  const Commit other_clock{1, 2000, 1000, 800};  // the clock alone does not make another device
  const Commit other_core{2, 1000, 1000, 990};
  CHECK(last_commit_on(records_of(merged({history_of({great}), history_of({slight})})), 1) == 1500);
  CHECK(last_commit_on(records_of(merged({history_of({great, slight, kept})})), 1) == 1500);
  CHECK(last_commit_on(records_of(merged({history_of({kept}), history_of({slight})})), 1) == 950);
  const HistoryRecords all = records_of(
      merged({history_of({great}), history_of({other_core}), history_of({other_clock}), history_of({slight})}));
  CHECK(last_commit_on(all, 1) == 1500);
  CHECK(last_commit_on(all, 2) == 990);
  CHECK(all.fingerprints.size() == 3);
  const HistoryRecords clocks = records_of(merged({history_of({other_clock}), history_of({slight})}));
  CHECK(last_commit_on(clocks, 1) == 800);
}

TEST_CASE("an intent that never ended becomes the crashed trial that the device would write, once") {
  SampleSize size{1, 1, 0, 0, 1, 1, 4};
  const Bytes crashed = sample_history(3, size);
  const HistoryRecords once = records_of(merged({crashed, crashed}));
  REQUIRE(once.trials.size() == 1);
  CHECK(once.open_intents.empty());
  CHECK(trial_of(once.trials[0]).trial.outcome() == TEMPER_OUTCOME_CRASHED);
  size.open_intents = 2;  // the device started again and went down with the next one
  CHECK(records_of(merged({sample_history(4, size)})).trials.size() == 2);
}

TEST_CASE("no history at all and empty histories make an empty one") {
  const Bytes empty = merged({});
  CHECK(records_of(empty).frames == 1);
  CHECK(merged({empty, empty}) == empty);
  CHECK(merged({Bytes()}) == empty);
  CHECK(merged({Bytes(5000, 0xFF)}) == empty);
}

}  // namespace
}  // namespace temper
