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
};

class TableView {
 public:
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
