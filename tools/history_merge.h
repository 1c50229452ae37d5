// Histories joined into one, record by record, each under the fingerprint it was made on. Called by `temper merge`;
// reads and writes no file. The result is the same bytes for any order and grouping of the same histories, and joining
// it again with any of them changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/result.h"
#include "tools/history_records.h"

namespace temper {

struct MergedHistory {
  std::vector<uint8_t> bytes;  ///< a history that the device core opens
  size_t fingerprints = 0, workloads = 0, trials = 0, commits = 0;
  size_t duplicates = 0;  ///< trials and commits that several of the histories hold
};

/// The canonical form (tools/README.md says it in full):
/// - names of workloads, by key; of several names for one key the one with the greatest count, then the first by text;
/// - by fingerprint, its trials by workload and config; of one config the trial with most samples, then the slower, is
///   last, because readers let the last one count;
/// - behind the trials of one device (fingerprints that agree in all decisive fields) its commits by workload, the one
///   with the greatest gain in its own rematch last, because readers let the last valid one count.
/// A trial is kept as often as the history that holds it most often does, a commit once. Closed intents are left out;
/// open ones become the crashed trial that the device itself would write. TEMPER_UNSUPPORTED beyond 65,535
/// fingerprints, TEMPER_STORAGE_FULL beyond the size that a history may have.
Result<MergedHistory> merge_histories(const std::vector<HistoryRecords>& histories);

}  // namespace temper
