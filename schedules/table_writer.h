// Writes tuned tables (runtime/format/table.fbs) as bytes and as C source. Called by the temper command and by tests,
// on the host; the device only reads them (runtime/table_view.h). Never reads a history itself: the caller picks the
// entries.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/table_view.h"
#include "schedules/result.h"

namespace temper {

struct TableKnob {
  uint16_t id, value;
};

inline constexpr uint32_t kNoConstant = UINT32_MAX;

/// A plan as a baked table keeps it (format::BakedPlan).
struct BakedPlan {
  temper_plan plan{};               ///< all but kernel and args counts; threads: the most that are worth it
  uint16_t kernel = 0;              ///< index
  uint32_t constant = kNoConstant;  ///< index of the first prepacked one, of `count` that follow each other
};

/// What executes a workload without its space.
struct BakedEntry {
  std::array<uint32_t, TEMPER_TENSOR_COUNT> elements{};
  uint32_t digest = 0;
  uint32_t count = 1;
  BakedPlan winner, fallback;
};

struct TableEntry {
  uint64_t workload = 0;  ///< key
  uint16_t template_id = 0, template_version = 0;
  uint64_t default_ns = 0, tuned_ns = 0;
  std::vector<TableKnob> knobs;  ///< any order
  std::string name;
  std::vector<int32_t> dims = {};        ///< of the workload, in its template's order; empty: unknown
  std::optional<BakedEntry> baked = {};  ///< of all entries of a table or of none
};

/// Sorts entries and knobs; the result opens with TableView (checked here). Memory of the vector is aligned to 8 bytes.
/// TEMPER_INVALID_ARGUMENT: a workload or a knob of an entry is there twice, an entry has more than TEMPER_MAX_KNOBS
/// knobs, or not all that are baked; the message names the entry.
Result<std::vector<uint8_t>> write_table(std::vector<TableEntry> entries, const Fingerprint& fingerprint,
                                         const std::string& target);

/// The table as C source: an array `name` aligned to 8 bytes and its size, `name`_bytes. Line 1 says `generator`, which
/// is the command that made it. TEMPER_INVALID_ARGUMENT when `name` is no C identifier.
Result<std::string> table_as_c_source(const std::vector<uint8_t>& table, const std::string& name,
                                      const std::string& generator);

}  // namespace temper
