// Tuned tables of one device joined into one: the union of their workloads. Called by `temper merge`; reads and writes
// no file. The result is the same bytes for any order and grouping of the same tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/table_view.h"
#include "schedules/result.h"

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

}  // namespace temper
