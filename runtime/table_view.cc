#include "runtime/table_view.h"

#include "runtime/crc32.h"
#include "runtime/flatbuffer_check.h"

namespace temper {
namespace {

// Tables of runtime/format/table.fbs: the root, then TableEntry.
constexpr uint8_t kEntry = 1;
constexpr FieldRule kFields[] = {
    scalar_field(2),  // TunedTable.version
    struct_field(sizeof(Fingerprint), alignof(Fingerprint)),
    string_field(),                // target
    tables_field(kEntry),          // entries
    optional(vector_field(8, 8)),  // keys
    scalar_field(4),               // crc
    optional(vector_field(sizeof(format::BakedEntry), alignof(format::BakedEntry))),
    optional(strings_field()),     // names
    optional(vector_field(4, 4)),  // by_name
    scalar_field(8),               // TableEntry.workload
    scalar_field(2),               // template_id
    scalar_field(2),               // template_version
    scalar_field(8),               // default_ns
    scalar_field(8),               // tuned_ns
    vector_field(sizeof(format::KnobValue), alignof(format::KnobValue)),
    string_field(),                // name
    optional(vector_field(4, 4)),  // dims
};
constexpr uint8_t kStarts[] = {0, 9, 17};
static_assert(kStarts[2] == sizeof kFields / sizeof kFields[0], "the rules restate the schema");

const format::TunedTable& table_of(const void* root) { return *static_cast<const format::TunedTable*>(root); }

bool ascending(const flatbuffers::Vector<const format::KnobValue*>& knobs) {
  for (uint32_t i = 1; i < knobs.size(); ++i) {
    if (knobs.Get(i)->id() <= knobs.Get(i - 1)->id()) {
      return false;
    }
  }
  return true;
}

const char* semantic_fault(const format::TunedTable& table) {
  const auto& entries = *table.entries();
  const auto* const keys = table.keys();
  if (keys != nullptr && keys->size() != entries.size()) {
    return "not one key for each entry";
  }
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const auto& knobs = *entries.Get(i)->knobs();
    if (i != 0 && entries.Get(i)->workload() <= entries.Get(i - 1)->workload()) {
      return "the entries are not sorted by workload";
    }
    if (keys != nullptr && keys->Get(i) != entries.Get(i)->workload()) {
      return "a key is not that of its entry";
    }
    if (knobs.size() > TEMPER_MAX_KNOBS || !ascending(knobs)) {
      return "an entry has too many knobs or unsorted ones";
    }
  }
  return nullptr;
}

Status refuse(temper_status status, const char* why, const char** reason) {
  if (reason != nullptr) {
    *reason = why;
  }
  return status;
}

}  // namespace

bool table_crc(const temper_table& table, uint32_t* crc, size_t* at) {
  const uint8_t* const data = static_cast<const uint8_t*>(table.data);
  const uint8_t* const field = flatbuffers::GetRoot<flatbuffers::Table>(data)->GetAddressOf(format::TunedTable::VT_CRC);
  if (field == nullptr) {
    return false;
  }
  *at = static_cast<size_t>(field - data);
  *crc = crc32(crc32(0, data, *at), field + sizeof *crc, table.data_bytes - *at - sizeof *crc);
  return true;
}

Status open_table(const temper_table& table, const format::TunedTable** out, const char** reason) {
  const Span<const uint8_t> data{static_cast<const uint8_t*>(table.data), table.data_bytes};
  if (!check_flatbuffer(data, {format::TunedTableIdentifier(), kFields, kStarts}).ok()) {
    return refuse(TEMPER_BAD_DATA, "not a tuned table, or damaged", reason);
  }
  const format::TunedTable& root = *flatbuffers::GetRoot<format::TunedTable>(table.data);
  uint32_t crc = 0;
  size_t at = 0;
  if (root.version() != kTableVersion) {
    return refuse(TEMPER_BAD_VERSION, "of another format version", reason);
  }
  // Without one it is refused: else damage that hides the field lets through what it changed besides.
  if (!table_crc(table, &crc, &at) || crc != root.crc()) {
    return refuse(TEMPER_BAD_DATA, "damaged: its checksum differs", reason);
  }
  *out = &root;
  return TEMPER_OK;
}

Status TableView::open(const temper_table& table, TableView* out, const char** reason) {
  *out = TableView();
  const format::TunedTable* root = nullptr;
  const Status status = open_table(table, &root, reason);
  if (!status.ok()) {
    return status;
  }
  const char* const fault = semantic_fault(*root);
  if (fault != nullptr) {
    return refuse(TEMPER_BAD_DATA, fault, reason);
  }
  out->root_ = root;
  return TEMPER_OK;
}

uint32_t TableView::count() const { return root_ == nullptr ? 0 : table_of(root_).entries()->size(); }

TableEntryView TableView::entry(uint32_t index) const {
  const format::TableEntry& entry = *table_of(root_).entries()->Get(index);
  const auto& knobs = *entry.knobs();
  const auto* const dims = entry.dims();
  return {entry.workload(),
          entry.template_id(),
          entry.template_version(),
          entry.default_ns(),
          entry.tuned_ns(),
          {reinterpret_cast<const format::KnobValue*>(knobs.Data()), knobs.size()},
          entry.name()->c_str(),
          dims == nullptr ? Span<const int32_t>() : Span<const int32_t>{dims->data(), dims->size()}};
}

Status TableView::find(uint64_t workload, TableEntryView* out) const {
  uint32_t low = 0, high = count();
  const auto* const keys = high == 0 ? nullptr : table_of(root_).keys();
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    // Side by side where the table has them: one read a step.
    const uint64_t key = keys != nullptr ? keys->Get(middle) : table_of(root_).entries()->Get(middle)->workload();
    if (key < workload) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == count() || table_of(root_).entries()->Get(low)->workload() != workload) {
    return TEMPER_NOT_FOUND;
  }
  *out = entry(low);
  return TEMPER_OK;
}

const Fingerprint& TableView::fingerprint() const { return *table_of(root_).fingerprint(); }
const char* TableView::target() const { return table_of(root_).target()->c_str(); }

}  // namespace temper
