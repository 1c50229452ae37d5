// The loaders of the command: see loaders.h.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "schedules/spaces.h"
#include "schedules/workloads_json.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/loaders.h"
#include "tools/duration.h"
#include "tools/history_merge.h"
#include "tools/history_records.h"
#include "tools/history_source.h"
#include "tools/link_map.h"
#include "tools/network_argument.h"
#include "tools/option_values.h"
#include "tools/suggestion.h"

namespace temper::test {
namespace {

const std::string kPath = "damaged file";

std::string_view text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void demand_message(const Error& error) {
  demand(error.code != TEMPER_OK && error.code != TEMPER_MORE, "what is refused has a status");
  demand(error.message.find(kPath) != std::string::npos && error.message.size() > kPath.size(),
         "a message names the file and says more");
}

HistoryRecords records_of(const Bytes& history) {
  const Result<HistorySource> source = parse_history(kPath, text_of(history));
  demand(source.ok(), "what was merged is a history");
  return read_records(*source);
}

void use_records(const HistoryRecords& records) {
  for (const HistoryRecord& trial : records.trials) {
    demand(trial.fingerprint < records.fingerprints.size(), "a trial has a fingerprint");
    demand(trial_of(trial).knobs.size <= TEMPER_MAX_KNOBS, "a trial is readable");
    (void)measured_time(trial);
  }
  for (const HistoryRecord& commit : records.commits) {
    demand(commit.fingerprint < records.fingerprints.size(), "a commit has a fingerprint");
    demand(commit_of(commit).knobs.size <= TEMPER_MAX_KNOBS, "a commit is readable");
  }
  for (const size_t index : records.open_intents) {
    demand(index < records.trials.size(), "an open intent is one of the trials");
  }
}

/// Merged, it holds the same and stays the same however often it is merged.
void merge(const HistoryRecords& records) {
  const Result<MergedHistory> merged = merge_histories({records});
  if (!merged) {
    demand(!merged.error().message.empty(), "what cannot be merged says why");
    return;
  }
  const HistoryRecords again = records_of(merged->bytes);
  demand(again.lost_frames == 0 && again.unreadable == 0 && again.orphans == 0 && again.damaged_bytes == 0,
         "what was merged is whole");
  demand(again.trials.size() == merged->trials && again.commits.size() == merged->commits, "what was merged is there");
  const Result<MergedHistory> alone = merge_histories({again}), both = merge_histories({records, again});
  demand(alone && alone->bytes == merged->bytes, "merging what was merged changes nothing");
  demand(both && both->bytes == merged->bytes, "merging a history again changes nothing");
}

void parse_as_history(const std::string& contents, std::optional<uint64_t> offset) {
  const Result<HistorySource> source = parse_history(kPath, contents, offset);
  if (!source) {
    demand_message(source.error());
    return;
  }
  const HistoryRecords records = read_records(*source);
  use_records(records);
  merge(records);
}

}  // namespace

int fuzz_history_source(const uint8_t* data, size_t size) {
  const std::string contents(reinterpret_cast<const char*>(data), size);
  (void)resembles_history(contents);
  parse_as_history(contents, std::nullopt);
  for (const uint64_t offset : {uint64_t{0}, uint64_t{16}}) {
    parse_as_history(contents, offset);
  }
  return 0;
}

int fuzz_workloads(const uint8_t* data, size_t size) {
  const Result<Network> network = parse_workloads_text(std::string(reinterpret_cast<const char*>(data), size), kPath);
  if (!network) {
    demand_message(network.error());
    return 0;
  }
  const std::string text = workloads_text(*network);
  const Result<Network> again = parse_workloads_text(text, kPath);
  demand(again && again->workloads.size() == network->workloads.size(), "what is written can be read");
  for (size_t i = 0; i < network->workloads.size(); ++i) {
    demand(workload_key(again->workloads[i].workload) == workload_key(network->workloads[i].workload),
           "a workload is the same when it was written and read");
  }
  constexpr size_t kMostSpaces = 4;  // each takes a millisecond
  std::vector<NetworkWorkload> few = network->workloads;
  few.resize(std::min(few.size(), kMostSpaces));
  PackOptions options;
  options.target = "x86-64-v3-linux";
  options.digests = false;
  const Result<std::vector<uint8_t>> pack = write_pack(few, options);
  if (!pack) {
    demand(!pack.error().message.empty(), "a space that cannot be built says why");
    return 0;
  }
  return fuzz_pack(pack->data(), pack->size());
}

int fuzz_options(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Result<uint64_t> duration = parse_duration(text);
  demand(duration ? *duration >= 1 && *duration < uint64_t{1} << 62 : !duration.error().message.empty(),
         "a duration is in range, or refused with a message");
  demand(!duration || !duration_text(*duration).empty(), "a duration can be written");
  std::string value = text;
  if (whole_number(1, 1000)(value).empty()) {
    const uint64_t number = std::strtoull(text.c_str(), nullptr, 10);
    demand(number >= 1 && number <= 1000, "a whole number is in its range");
  }
  value = text;
  (void)byte_offset()(value);
  value = text;
  if (real_number(0.5, 2)(value).empty()) {
    const double number = std::strtod(text.c_str(), nullptr);
    demand(number >= 0.5 && number <= 2, "a number is in its range");
  }
  NetworkArgument argument;
  argument.shapes = argument.dimensions = {text};
  const Result<ImportOptions> options = import_options(argument);
  demand(options || !options.error().message.empty(), "a shape that is refused says why");
  constexpr size_t kLongestWord = 64;
  (void)did_you_mean(text.substr(0, kLongestWord), {"tune", "bench", "lookup"});
  (void)parse_link_map(text);
  (void)parse_overflows(text);
  (void)object_stem(text);
  return 0;
}

}  // namespace temper::test
