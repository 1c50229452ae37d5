// A small verifier for FlatBuffers, driven by a table that restates the schema. Called by PackView and TableView when
// they open a buffer; afterwards the generated accessors are safe. Stricter than the stock verifier: required fields,
// alignment of everything, work linear in the size of the buffer. Unknown trailing fields are allowed (formats grow).
// Never allocates.
#pragma once

#include <cstdint>

#include "runtime/span.h"
#include "runtime/status.h"

namespace temper {

enum class FieldKind : uint8_t { kInline, kString, kVector, kTable, kTableVector, kStringVector };
enum class Presence : uint8_t { kOptional, kRequired };

/// One field of a table, in the order of its id in the schema.
struct FieldRule {
  uint8_t packed;  ///< kind, presence and detail in two bytes altogether: flash is scarce
  uint8_t bytes;   ///< kInline: of the scalar or struct; kVector: of one element; tables: unused

  constexpr FieldKind kind() const { return static_cast<FieldKind>(packed & 7u); }
  constexpr Presence presence() const { return static_cast<Presence>(packed >> 3 & 1u); }
  /// kInline, kVector: alignment; kTable, kTableVector: index of the table in the schema. Below 16.
  constexpr uint8_t detail() const { return packed >> 4; }
};

constexpr FieldRule field_rule(FieldKind kind, uint8_t bytes, uint8_t detail) {
  return {static_cast<uint8_t>(static_cast<uint32_t>(kind) | 8u | static_cast<uint32_t>(detail) << 4), bytes};
}
constexpr FieldRule optional(FieldRule rule) { return {static_cast<uint8_t>(rule.packed & ~8u), rule.bytes}; }
constexpr FieldRule scalar_field(uint8_t bytes) { return optional(field_rule(FieldKind::kInline, bytes, bytes)); }
constexpr FieldRule struct_field(uint8_t bytes, uint8_t alignment) {
  return field_rule(FieldKind::kInline, bytes, alignment);
}
constexpr FieldRule string_field() { return field_rule(FieldKind::kString, 1, 1); }
constexpr FieldRule vector_field(uint8_t bytes, uint8_t alignment) {
  return field_rule(FieldKind::kVector, bytes, alignment);
}
constexpr FieldRule table_field(uint8_t table) { return field_rule(FieldKind::kTable, 4, table); }
constexpr FieldRule tables_field(uint8_t table) { return field_rule(FieldKind::kTableVector, 4, table); }
constexpr FieldRule strings_field() { return field_rule(FieldKind::kStringVector, 4, 1); }

/// The fields of table t are fields[starts[t]] to fields[starts[t + 1] - 1]; table 0 is the root. No table contains
/// itself.
struct FlatbufferRules {
  const char* identifier;  ///< four characters
  const FieldRule* fields;
  const uint8_t* starts;
};

/// TEMPER_BAD_DATA unless every table, vtable, vector and string that the rules reach lies inside `data`, aligned, with
/// the required fields there. `data` must be aligned to 8 bytes (checked too) and shorter than 2^31.
Status check_flatbuffer(Span<const uint8_t> data, const FlatbufferRules& rules);

}  // namespace temper
