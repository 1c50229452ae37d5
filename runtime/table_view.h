// A verified view of a tuned table, and its look-up by binary search. Read in place; never allocates.
#pragma once

#include "runtime/history.h"
#include "temper/temper.h"

namespace temper {

inline constexpr uint16_t kTableVersion = 1;

struct TableEntryView {
  uint64_t workload;
  uint16_t template_id, template_version;
  uint64_t default_ns, tuned_ns;
  Span<const format::KnobValue> knobs;
  const char* name;
  Span<const int32_t> dims;  ///< empty: unknown
};

/// What every reader of a table asks first: FlatBuffers' own rules, the version and the checksum.
/// The order of entries and what they hold is left to the reader. TEMPER_BAD_DATA or TEMPER_BAD_VERSION; *reason, when
/// not null, gets a static text.
Status open_table(const temper_table& table, const format::TunedTable** out, const char** reason);

/// CRC-32 over all bytes of a table but those of its crc field, which lie at *at. False when it has none. FlatBuffers'
/// own rules hold.
bool table_crc(const temper_table& table, uint32_t* crc, size_t* at);

class TableView {
 public:
  /// A view left closed holds nothing. Statuses and *reason as open_table.
  static Status open(const temper_table& table, TableView* out, const char** reason);
  uint32_t count() const;
  TableEntryView entry(uint32_t index) const;
  /// TEMPER_NOT_FOUND.
  Status find(uint64_t workload, TableEntryView* out) const;
  const Fingerprint& fingerprint() const;
  const char* target() const;

 private:
  const void* root_ = nullptr;
};

}  // namespace temper
