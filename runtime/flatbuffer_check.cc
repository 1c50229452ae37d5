#include "runtime/flatbuffer_check.h"

#include <cstring>

namespace temper {
namespace {

// All positions are offsets into the buffer, below 2^31, so that sums of two never wrap.
class Checker {
 public:
  Checker(Span<const uint8_t> data, const FlatbufferRules& rules)
      : data_(data.data), size_(static_cast<uint32_t>(data.size)), rules_(rules), tables_left_(size_ / 4) {}

  bool root() {
    uint32_t identifier;
    std::memcpy(&identifier, rules_.identifier, sizeof identifier);
    return size_ >= 8 && read<uint32_t>(4) == identifier && table(read<uint32_t>(0), 0);
  }

 private:
  // The caller has checked that it lies inside.
  template <class T>
  T read(uint32_t at) const {
    T value;
    std::memcpy(&value, data_ + at, sizeof value);
    return value;
  }

  bool inside(uint32_t at, uint32_t bytes) const { return at <= size_ && bytes <= size_ - at; }

  // A shared subtree is visited once per reference; a table takes at least four bytes and so does each reference to it,
  // so a buffer that needs more visits than this repeats references only to keep us busy.
  bool table(uint32_t at, uint8_t index) {
    if (tables_left_ == 0 || at % 4 != 0 || !inside(at, 4)) {
      return false;
    }
    --tables_left_;
    const uint32_t vtable = at - read<uint32_t>(at);  // wraps to a huge position when it lies before the buffer
    if (vtable % 2 != 0 || !inside(vtable, 4)) {
      return false;
    }
    const uint32_t vtable_bytes = read<uint16_t>(vtable);
    const uint32_t table_bytes = read<uint16_t>(vtable + 2);
    if (vtable_bytes < 4 || vtable_bytes % 2 != 0 || !inside(vtable, vtable_bytes) || table_bytes < 4 ||
        !inside(at, table_bytes)) {
      return false;
    }
    uint32_t entry = 4;
    for (uint32_t i = rules_.starts[index]; i < rules_.starts[index + 1]; ++i, entry += 2) {
      const uint32_t offset = entry < vtable_bytes ? read<uint16_t>(vtable + entry) : 0;
      if (!field(rules_.fields[i], at, offset, table_bytes)) {
        return false;
      }
    }
    return true;
  }

  bool field(const FieldRule& rule, uint32_t table_at, uint32_t offset, uint32_t table_bytes) {
    if (offset == 0) {
      return rule.presence() == Presence::kOptional;
    }
    const bool is_inline = rule.kind() == FieldKind::kInline;
    const uint32_t bytes = is_inline ? rule.bytes : 4;
    const uint32_t at = table_at + offset;
    if (offset < 4 || offset + bytes > table_bytes || at % (is_inline ? rule.detail() : 4) != 0) {
      return false;
    }
    return is_inline || reach(at, rule);
  }

  // What the offset stored at `at` leads to.
  bool reach(uint32_t at, FieldRule rule) {
    const uint32_t distance = read<uint32_t>(at);
    const uint32_t target = at + distance;
    if (distance > size_ || target % 4 != 0 || !inside(target, 4)) {
      return false;
    }
    if (rule.kind() == FieldKind::kTable) {
      return table(target, rule.detail());
    }
    const uint32_t count = read<uint32_t>(target);
    const uint32_t first = target + 4;
    const uint32_t room = size_ - first;
    if (static_cast<uint64_t>(count) * rule.bytes > room) {
      return false;
    }
    if (rule.kind() == FieldKind::kString) {
      return count < room && data_[first + count] == 0;
    }
    if (rule.kind() == FieldKind::kVector) {
      return first % rule.detail() == 0;
    }
    const FieldRule element = rule.kind() == FieldKind::kStringVector ? string_field() : table_field(rule.detail());
    uint32_t i = 0;
    while (i < count && reach(first + 4 * i, element)) {
      ++i;
    }
    return i == count;
  }

  const uint8_t* data_;
  uint32_t size_;
  const FlatbufferRules& rules_;
  uint32_t tables_left_;
};

}  // namespace

Status check_flatbuffer(Span<const uint8_t> data, const FlatbufferRules& rules) {
  if (data.data == nullptr || reinterpret_cast<uintptr_t>(data.data) % 8 != 0 || data.size > INT32_MAX) {
    return TEMPER_BAD_DATA;
  }
  return Checker(data, rules).root() ? TEMPER_OK : TEMPER_BAD_DATA;
}

}  // namespace temper
