// Tuned tables joined: those of one device into one, the union of their workloads; and a table as the records of a
// history, for everything else. Called by `temper merge`; reads and writes no file. The result is the same bytes for
// any order and grouping of the same tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/table_view.h"
#include "schedules/result.h"
#include "tools/history_records.h"

namespace temper {

struct NamedTable {
  std::string path;  ///< for messages
  TableView view;    ///< verified; the bytes it reads outlive the call
  bool baked;        ///< it names kernels that lie elsewhere
};

struct MergedTable {
  std::vector<uint8_t> bytes;
  size_t entries = 0;
  size_t replaced = 0;  ///< entries of a workload that a better one of another table stands for, duplicates included
};

/// Of several entries for a workload the one with the greatest gain (tuned against default time) counts.
/// TEMPER_BAD_DATA when two tables were made on different devices: a table tells the results of one. TEMPER_UNSUPPORTED
/// for tables that were baked with kernels, which a merge would part from them.
Result<MergedTable> merge_tables(const std::vector<NamedTable>& tables);

/// Whether all were made on one device: their fingerprints agree in every decisive field.
bool of_one_device(const std::vector<NamedTable>& tables);

/// Its entries as commits under the table's fingerprint, times and names kept; one that is not faster than the default
/// counts as the default kept. Entries that were never timed (bake's defaults) are no results and are left out.
HistoryRecords records_of_table(const TableView& table);

}  // namespace temper
