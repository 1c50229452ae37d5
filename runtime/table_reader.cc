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

temper_miss find_in_table(const OpenTable& table, const PackView& pack, const Space& space, const Fingerprint& here,
                          Config* config, temper_answer* answer) {
  if (!table.whole) {
    return TEMPER_MISS_DAMAGED;
  }
  TableEntryView entry;
  if (!table.view.find(space.workload().key, &entry).ok()) {
    return TEMPER_MISS_UNKNOWN_WORKLOAD;
  }
  const uint32_t fields = compare(table.view.fingerprint(), here);
  if ((fields & kFingerprintDecisive) != 0) {
    answer->fingerprint_fields[TEMPER_SOURCE_TABLE] |= static_cast<uint16_t>(fields);
    return TEMPER_MISS_FINGERPRINT;
  }
  const temper_miss miss = translate(pack, space, entry.template_id, entry.template_version, entry.knobs, config);
  if (miss == TEMPER_MISS_NONE) {
    answer->fingerprint_fields[TEMPER_SOURCE_TABLE] = static_cast<uint16_t>(fields);
    answer->default_ns = entry.default_ns;
    answer->tuned_ns = entry.tuned_ns;
  }
  return miss;
}

temper_miss find_in_tables(const void* opened, uint32_t table_count, const PackView& pack, const Space& space,
                           const Fingerprint& here, Config* config, temper_answer* answer) {
  const OpenTable* const tables = static_cast<const OpenTable*>(opened);
  temper_miss miss = TEMPER_MISS_ABSENT;
  for (uint32_t i = 0; i < table_count && miss != TEMPER_MISS_NONE; ++i) {
    miss = find_in_table(tables[i], pack, space, here, config, answer);
    answer->table = miss == TEMPER_MISS_NONE ? i : answer->table;
  }
  return miss;
}

}  // namespace
}  // namespace temper

extern const temper_table_functions temper_table_reader = {temper::open_tables, temper::find_in_tables};
