// What `temper merge` promises of any mix of histories and tables: the same bytes in every order and grouping and any
// number of times, and each record of each input under its fingerprint. Random cases; TEMPER_LONG=1 makes many more.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

#include "schedules/table_writer.h"
#include "tests/tools/history_samples.h"
#include "tools/history_merge.h"
#include "tools/table_merge.h"

namespace temper {
namespace {

using Bytes = std::vector<uint8_t>;

/// A file and what it holds; tables are read in place, so the bytes stay.
struct File {
  Bytes bytes;
  bool is_table = false;
  HistoryRecords records;
};

HistoryRecords history_records(const Bytes& bytes) {
  const Result<HistorySource> source = parse_history("F", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  REQUIRE(source);
  return read_records(*source);
}

TableView view_of(const Bytes& bytes) {
  TableView view;
  REQUIRE(TableView::open({bytes.data(), bytes.size()}, &view, nullptr).ok());
  return view;
}

/// Few devices, workloads and times, so that entries meet each other and the commits of histories.
Bytes random_table(std::mt19937_64& random, uint32_t core_types) {
  const auto below = [&](uint64_t limit) { return random() % limit; };
  std::vector<TableEntry> entries;
  for (uint64_t workload = 0x1000; workload < 0x1005; ++workload) {
    if (below(3) == 0) {
      continue;
    }
    TableEntry entry;
    entry.workload = workload;
    entry.template_id = entry.template_version = 1;
    entry.default_ns = 1000 + 100 * below(3);
    entry.tuned_ns = below(6) == 0 ? 0 : entry.default_ns - 10 * below(3);
    for (uint16_t id = 0; id < 3; ++id) {
      entry.knobs.push_back({id, static_cast<uint16_t>(1u << below(3))});
    }
    entry.name = "workload " + std::to_string(workload - 0x1000);
    entries.push_back(std::move(entry));
  }
  const Fingerprint fingerprint(77, static_cast<uint32_t>(below(core_types)), 1, 1, 4, 8, 0, 0, 0,
                                25000 + static_cast<uint32_t>(below(2)), 50, 0, 0, 0, 0, 0);
  const Result<Bytes> bytes = write_table(std::move(entries), fingerprint, "board");
  REQUIRE(bytes);
  return *bytes;
}

File random_file(std::mt19937_64& random) {
  File file;
  file.is_table = random() % 2 == 0;
  if (file.is_table) {
    file.bytes = random_table(random, 2);
    file.records = records_of_table(view_of(file.bytes));
    return file;
  }
  const test::SampleSize size{static_cast<uint32_t>(1 + random() % 3),
                              3,
                              static_cast<uint32_t>(random() % 24),
                              static_cast<uint32_t>(random() % 8),
                              static_cast<uint32_t>(random() % 2),
                              1,
                              3};
  file.bytes = test::sample_history(random(), size);
  file.records = history_records(file.bytes);
  return file;
}

Bytes merged(const std::vector<const HistoryRecords*>& of) {
  std::vector<HistoryRecords> records;
  for (const HistoryRecords* each : of) {
    records.push_back(*each);
  }
  const Result<MergedHistory> result = merge_histories(records);
  REQUIRE(result);
  return result->bytes;
}

std::multiset<std::string> contents(const HistoryRecords& records, const std::vector<HistoryRecord>& of) {
  std::multiset<std::string> all;
  for (const HistoryRecord& record : of) {
    const Fingerprint& fingerprint = records.fingerprints[record.fingerprint];
    std::string text(reinterpret_cast<const char*>(&fingerprint), sizeof fingerprint);
    all.insert(text.append(record.payload.begin(), record.payload.end()));
  }
  return all;
}

uint32_t rounds(uint32_t usual) { return std::getenv("TEMPER_LONG") != nullptr ? 50 * usual : usual; }

/// Merges neighbours at random until one is left.
Bytes merged_in_random_groups(std::vector<HistoryRecords> parts, std::mt19937_64& random) {
  std::shuffle(parts.begin(), parts.end(), random);
  while (parts.size() > 1) {
    const size_t at = random() % (parts.size() - 1);
    const size_t more = std::min<size_t>(parts.size() - at, 2 + random() % 2);
    std::vector<const HistoryRecords*> group;
    for (size_t i = 0; i < more; ++i) {
      group.push_back(&parts[at + i]);
    }
    HistoryRecords joined = history_records(merged(group));
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at),
                parts.begin() + static_cast<std::ptrdiff_t>(at + more));
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(random() % (parts.size() + 1)), std::move(joined));
  }
  return merged({&parts.front()});
}

TEST_CASE("any mix of histories and tables merges to the same bytes in every order and grouping, any number of times") {
  const uint32_t cases = rounds(300);
  MESSAGE("seeds 0 to " << cases - 1);
  for (uint32_t seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::vector<HistoryRecords> parts;
    std::vector<const HistoryRecords*> all;
    const size_t count = 2 + random() % 4;
    for (size_t i = 0; i < count; ++i) {
      parts.push_back(random_file(random).records);
    }
    for (const HistoryRecords& part : parts) {
      all.push_back(&part);
    }
    const Bytes expected = merged(all);
    REQUIRE(merged_in_random_groups(parts, random) == expected);
    parts.insert(parts.end(), parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(1 + random() % count));
    parts.push_back(history_records(expected));  // again with some of its parts, and with itself
    REQUIRE(merged_in_random_groups(parts, random) == expected);
  }
}

TEST_CASE("each record of each input is in the result under its fingerprint, as often as one input holds it, no more") {
  const uint32_t cases = rounds(200);
  for (uint32_t seed = 0; seed < cases; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(1'000'000 + seed);
    std::vector<File> files;
    std::vector<const HistoryRecords*> all;
    for (size_t i = 0; i < 3; ++i) {
      files.push_back(random_file(random));
    }
    for (const File& file : files) {
      all.push_back(&file.records);
    }
    const HistoryRecords result = history_records(merged(all));
    REQUIRE(result.orphans + result.lost_frames + result.damaged_bytes == 0);
    std::multiset<std::string> trials, commits;
    for (const File& file : files) {
      std::multiset<std::string> joined;
      const auto of_file = contents(file.records, file.records.trials);
      std::set_union(trials.begin(), trials.end(), of_file.begin(), of_file.end(), std::inserter(joined, joined.end()));
      trials = std::move(joined);
      for (const std::string& commit : contents(file.records, file.records.commits)) {
        commits = commits.count(commit) == 0 ? (commits.insert(commit), commits) : commits;
      }
      for (const auto& [key, named] : file.records.workloads) {
        REQUIRE(result.workloads.count(key) == 1);
      }
    }
    REQUIRE(contents(result, result.trials) == trials);
    REQUIRE(contents(result, result.commits) == commits);
  }
}

TEST_CASE("a table's entry becomes a commit with its times, its knobs and its name under the table's fingerprint") {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Bytes bytes = random_table(random, 3);
    const TableView table = view_of(bytes);
    const HistoryRecords direct = records_of_table(table);
    const HistoryRecords result = history_records(merged({&direct}));
    REQUIRE(result.fingerprints.size() == 1);
    CHECK(std::memcmp(&result.fingerprints[0], &table.fingerprint(), sizeof(Fingerprint)) == 0);
    size_t timed = 0;
    for (uint32_t i = 0; i < table.count(); ++i) {
      const TableEntryView entry = table.entry(i);
      const auto found = std::find_if(result.commits.begin(), result.commits.end(), [&](const HistoryRecord& record) {
        return commit_of(record).commit.workload() == entry.workload;
      });
      if (entry.tuned_ns == 0) {
        CHECK(found == result.commits.end());
        continue;
      }
      ++timed;
      REQUIRE(found != result.commits.end());
      const CommitView commit = commit_of(*found);
      CHECK(commit.commit.default_ns() == entry.default_ns);
      CHECK(commit.commit.tuned_ns() == entry.tuned_ns);
      CHECK((commit.commit.kept_default() != 0) == (entry.tuned_ns >= entry.default_ns));
      CHECK(result.workloads.at(entry.workload).name == entry.name);
      REQUIRE(commit.knobs.size == entry.knobs.size);
      for (uint32_t k = 0; k < entry.knobs.size; ++k) {
        CHECK(commit.knobs.data[k].id() == entry.knobs.data[k].id());
        CHECK(commit.knobs.data[k].value() == entry.knobs.data[k].value());
      }
    }
    CHECK(result.commits.size() == timed);
  }
}

TEST_CASE("a history of ten thousand trials of a thousand workloads on a hundred devices merges with another") {
  const Bytes a = test::sample_history(1, {100, 1000, 10000, 1000, 1, 1, 1000}),
              b = test::sample_history(2, {100, 1000, 10000, 1000, 1, 1, 1000});
  const HistoryRecords first = history_records(a), second = history_records(b);
  const HistoryRecords result = history_records(merged({&first, &second}));
  CHECK(result.trials.size() >= first.trials.size() + second.trials.size() - 10);
  CHECK(result.workloads.size() == 1000);
}

}  // namespace
}  // namespace temper
