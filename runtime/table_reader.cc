// Look-ups in tuned tables: what config.table_reader points to. See runtime/lookup.h.
#include <new>

#include "runtime/lookup.h"
#include "runtime/table_view.h"

namespace temper {
namespace {

struct OpenTable {
  TableView view;
  bool whole;
};

void* open_tables(Arena& arena, Span<const temper_table> tables) {
  OpenTable* const opened = arena.take_array<OpenTable>(tables.size);
  for (uint32_t i = 0; opened != nullptr && i < tables.size; ++i) {
    new (&opened[i]) OpenTable();
    opened[i].whole = TableView::open(tables[i], &opened[i].view, nullptr).ok();
  }
  return opened;
}

uint32_t count_decisive(uint32_t fields) {
  uint32_t count = 0;
  for (fields &= kFingerprintDecisive; fields != 0; fields &= fields - 1) {
    ++count;
  }
  return count;
}

// ABSENT: it is a table of the other source.
temper_miss find_in_table(const OpenTable& table, const PackView& pack, const Space& space, uint32_t fields,
                          temper_source source, Config* config, TableEntryView* entry) {
  const bool of_device = (fields & kFingerprintDecisive) == 0;
  if (!table.whole) {
    return TEMPER_MISS_DAMAGED;
  }
  if (of_device && source == TEMPER_SOURCE_CLASS_TABLE) {
    return TEMPER_MISS_ABSENT;
  }
  if (!table.view.find(space.workload().key, entry).ok()) {
    return TEMPER_MISS_UNKNOWN_WORKLOAD;
  }
  if (source == TEMPER_SOURCE_TABLE ? !of_device : (fields & kFingerprintClass) != 0) {
    return TEMPER_MISS_FINGERPRINT;
  }
  return translate(pack, space, entry->template_id, entry->template_version, entry->knobs, config);
}

temper_miss find_source(Span<const OpenTable> tables, const PackView& pack, const Space& space, const Fingerprint& here,
                        temper_source source, Config* config, temper_answer* answer) {
  temper_miss worst = TEMPER_MISS_ABSENT;
  uint16_t& told = answer->fingerprint_fields[source];
  for (uint32_t i = 0; i < tables.size; ++i) {
    uint32_t fields = tables[i].whole ? compare(tables[i].view.fingerprint(), here) : 0;
    TableEntryView entry;
    const temper_miss miss = find_in_table(tables[i], pack, space, fields, source, config, &entry);
    fields = miss == TEMPER_MISS_UNKNOWN_WORKLOAD ? 0 : fields;
    if (miss == TEMPER_MISS_NONE) {
      told = static_cast<uint16_t>(fields);
      answer->table = i;
      answer->default_ns = entry.default_ns;
      answer->tuned_ns = entry.tuned_ns;
      return miss;
    }
    if (miss > worst || (miss == worst && count_decisive(fields) < count_decisive(told))) {
      worst = miss;
      told = static_cast<uint16_t>(fields);
    }
  }
  return worst;
}

bool find_in_tables(const void* opened, uint32_t table_count, const PackView& pack, const Space& space,
                    const Fingerprint& here, Config* config, temper_answer* answer) {
  for (const temper_source source : {TEMPER_SOURCE_TABLE, TEMPER_SOURCE_CLASS_TABLE}) {
    answer->source = source;
    answer->missed[source] =
        find_source({static_cast<const OpenTable*>(opened), table_count}, pack, space, here, source, config, answer);
    if (answer->missed[source] == TEMPER_MISS_NONE) {
      answer->missed[TEMPER_SOURCE_CLASS_TABLE] = answer->missed[TEMPER_SOURCE_NEAREST] = TEMPER_MISS_NONE;
      return true;
    }
  }
  return false;
}

void lend_entries(const void* opened, uint32_t table_count, const Fingerprint& here,
                  const temper_nearest_functions& nearest, CurrentSpace* spaces, WorkloadNote* notes) {
  const OpenTable* const tables = static_cast<const OpenTable*>(opened);
  for (uint32_t i = table_count; i > 0; --i) {
    const TableView& view = tables[i - 1].view;
    const uint32_t fields = tables[i - 1].whole ? compare(view.fingerprint(), here) : kFingerprintClass;
    for (uint32_t e = 0; (fields & kFingerprintClass) == 0 && e < view.count(); ++e) {
      const TableEntryView entry = view.entry(e);
      if (beats_default(entry.default_ns, entry.tuned_ns)) {
        nearest.offer(
            spaces, notes, spaces->pack().find_workload(entry.workload),
            {entry.template_id, entry.template_version, static_cast<uint16_t>(fields), entry.knobs, entry.dims});
      }
    }
  }
}

}  // namespace
}  // namespace temper

extern const temper_table_functions temper_table_reader = {temper::open_tables, temper::find_in_tables,
                                                           temper::lend_entries};
