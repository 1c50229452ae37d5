#include "tools/table_merge.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "schedules/table_writer.h"
#include "tools/host_device.h"

namespace temper {
namespace {

/// A frame of a workload takes no more (runtime/records.cc cuts there too).
constexpr size_t kMostNameBytes = 200;

double time_ratio(const TableEntry& entry) {
  return entry.default_ns == 0 ? 1.0 : static_cast<double>(entry.tuned_ns) / static_cast<double>(entry.default_ns);
}

/// The smallest counts.
auto rank(const TableEntry& entry) {
  std::vector<std::pair<uint16_t, uint16_t>> knobs;
  for (const TableKnob& knob : entry.knobs) {
    knobs.emplace_back(knob.id, knob.value);
  }
  return std::tuple(time_ratio(entry), entry.tuned_ns, entry.default_ns, entry.template_id, entry.template_version,
                    std::move(knobs), entry.name);
}

TableEntry copied(const TableEntryView& view) {
  TableEntry entry;
  entry.workload = view.workload;
  entry.template_id = view.template_id;
  entry.template_version = view.template_version;
  entry.default_ns = view.default_ns;
  entry.tuned_ns = view.tuned_ns;
  entry.name = view.name;
  entry.dims.assign(view.dims.begin(), view.dims.end());
  for (const format::KnobValue& knob : view.knobs) {
    entry.knobs.push_back({knob.id(), knob.value()});
  }
  return entry;
}

bool before(const Fingerprint& a, const Fingerprint& b) { return std::memcmp(&a, &b, sizeof a) < 0; }

HistoryRecord commit_record(const TableEntryView& entry) {
  const bool kept = entry.default_ns != 0 && entry.tuned_ns >= entry.default_ns;
  const format::Commit commit(entry.workload, entry.default_ns, entry.tuned_ns, entry.template_id,
                              entry.template_version, 0, static_cast<uint8_t>(entry.knobs.size), kept ? 1 : 0);
  HistoryRecord record{0, std::vector<uint8_t>(sizeof commit)};
  std::memcpy(record.payload.data(), &commit, sizeof commit);
  const auto* const knobs = reinterpret_cast<const uint8_t*>(entry.knobs.data);
  record.payload.insert(record.payload.end(), knobs, knobs + entry.knobs.size * sizeof(format::KnobValue));
  return record;
}

}  // namespace

bool of_one_device(const std::vector<NamedTable>& tables) {
  return std::all_of(tables.begin(), tables.end(), [&](const NamedTable& table) {
    return (compare(table.view.fingerprint(), tables.front().view.fingerprint()) & kFingerprintDecisive) == 0;
  });
}

HistoryRecords records_of_table(const TableView& table) {
  HistoryRecords records;
  records.fingerprints.push_back(table.fingerprint());
  records.ordinals.push_back(0);
  for (uint32_t i = 0; i < table.count(); ++i) {
    const TableEntryView entry = table.entry(i);
    if (entry.tuned_ns == 0 || entry.knobs.size > TEMPER_MAX_KNOBS) {
      continue;
    }
    records.order.push_back(entry.workload);
    records.workloads[entry.workload].name = std::string(entry.name).substr(0, kMostNameBytes);
    records.commits.push_back(commit_record(entry));
  }
  return records;
}

Result<MergedTable> merge_tables(const std::vector<NamedTable>& tables) {
  const NamedTable& first = tables.front();
  Fingerprint fingerprint = first.view.fingerprint();
  std::string target = first.view.target();
  MergedTable merged;
  std::map<uint64_t, TableEntry> best;
  for (const NamedTable& table : tables) {
    if (table.baked) {
      return Error{TEMPER_UNSUPPORTED, table.path +
                                           ": was baked with its kernels and would lose them; merge the histories and "
                                           "bake the result"};
    }
    const uint32_t differing = compare(table.view.fingerprint(), first.view.fingerprint()) & kFingerprintDecisive;
    if (differing != 0) {
      return Error{TEMPER_BAD_DATA, table.path + " was made on another device than " + first.path + " (differs in " +
                                        fingerprint_fields_text(differing) +
                                        "), and a table tells the results of one; --as history keeps them all"};
    }
    // The other fields differ by what was measured; any choice will do that does not depend on the order.
    fingerprint = before(table.view.fingerprint(), fingerprint) ? table.view.fingerprint() : fingerprint;
    target = std::min(target, std::string(table.view.target()));
    for (uint32_t i = 0; i < table.view.count(); ++i) {
      TableEntry entry = copied(table.view.entry(i));
      const auto [at, fresh] = best.emplace(entry.workload, entry);
      merged.replaced += fresh ? 0 : 1;
      if (!fresh && rank(entry) < rank(at->second)) {
        at->second = std::move(entry);
      }
    }
  }
  std::vector<TableEntry> entries;
  for (auto& [key, entry] : best) {
    entries.push_back(std::move(entry));
  }
  merged.entries = entries.size();
  Result<std::vector<uint8_t>> bytes = write_table(std::move(entries), fingerprint, target);
  if (!bytes) {
    return bytes.error();
  }
  merged.bytes = std::move(*bytes);
  return merged;
}

}  // namespace temper
