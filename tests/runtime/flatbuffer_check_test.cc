#include "runtime/flatbuffer_check.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace temper {
namespace {

// Buffers written by hand, byte by byte, so that exactly one rule is broken at a time.
struct Bytes {
  std::vector<uint8_t> data;

  void put16(size_t at, uint32_t value) {
    const uint16_t narrow = static_cast<uint16_t>(value);
    std::memcpy(data.data() + at, &narrow, sizeof narrow);
  }
  void put32(size_t at, uint32_t value) { std::memcpy(data.data() + at, &value, sizeof value); }

  explicit Bytes(size_t size, uint32_t root) : data(size, 0) {
    put32(0, root);
    std::memcpy(data.data() + 4, "TEST", 4);
  }
  bool sound(const FlatbufferRules& rules) const {
    // A heap block of exactly this size, so that a sanitizer sees what is read past it.
    const auto exact = std::make_unique<uint8_t[]>(data.size());
    std::memcpy(exact.get(), data.data(), data.size());
    return check_flatbuffer({exact.get(), data.size()}, rules).ok();
  }
};

// root { small: 2 bytes }
constexpr FieldRule kSmallFields[] = {scalar_field(2)};
constexpr uint8_t kSmallStarts[] = {0, 1};
constexpr FlatbufferRules kSmall = {"TEST", kSmallFields, kSmallStarts};

// Vtable at `vtable`, table at `table`, the field at `field` within it.
Bytes small_buffer(size_t size, uint32_t vtable, uint32_t table, uint32_t field, uint32_t table_bytes = 8) {
  Bytes bytes(size, table);
  if (vtable + 6 <= size) {
    bytes.put16(vtable + 4, field);
  }
  bytes.put16(vtable, 6);
  bytes.put16(vtable + 2, table_bytes);
  bytes.put32(table, table - vtable);
  return bytes;
}

// root { number: 4 bytes; text: string; list: 8-byte elements; children: tables }, child { number: 4 bytes; list:
// 2-byte }
constexpr FieldRule kLargeFields[] = {scalar_field(4), string_field(),  vector_field(8, 8),
                                      tables_field(1), scalar_field(4), optional(vector_field(2, 2))};
constexpr uint8_t kLargeStarts[] = {0, 4, 6};
constexpr FlatbufferRules kLarge = {"TEST", kLargeFields, kLargeStarts};

constexpr uint32_t kTextAt = 40, kListAt = 52, kChildrenAt = 72, kChildAt = 88;
Bytes large_buffer() {
  Bytes bytes(96, 20);
  const uint32_t root_vtable[] = {12, 20, 4, 8, 12, 16};
  for (uint32_t i = 0; i < 6; ++i) {
    bytes.put16(8 + 2 * i, root_vtable[i]);
  }
  bytes.put32(20, 20 - 8);
  bytes.put32(24, 77);
  bytes.put32(28, kTextAt - 28);
  bytes.put32(32, kListAt - 32);
  bytes.put32(36, kChildrenAt - 36);
  bytes.put32(kTextAt, 3);
  std::memcpy(bytes.data.data() + kTextAt + 4, "abc", 4);
  bytes.put32(kListAt, 2);
  bytes.put32(kChildrenAt, 1);
  bytes.put32(kChildrenAt + 4, kChildAt - (kChildrenAt + 4));
  const uint32_t child_vtable[] = {6, 8, 4};
  for (uint32_t i = 0; i < 3; ++i) {
    bytes.put16(80 + 2 * i, child_vtable[i]);
  }
  bytes.put32(kChildAt, kChildAt - 80);
  return bytes;
}

bool large_with(uint32_t at, uint32_t value) {
  Bytes bytes = large_buffer();
  bytes.put32(at, value);
  return bytes.sound(kLarge);
}

}  // namespace

TEST_CASE("tables and vtables must be aligned and inside") {
  CHECK(small_buffer(24, 8, 16, 4).sound(kSmall));
  CHECK(small_buffer(24, 16, 8, 4).sound(kSmall));        // the vtable may follow its table
  CHECK_FALSE(small_buffer(26, 8, 18, 4).sound(kSmall));  // table at an odd multiple of two
  CHECK_FALSE(small_buffer(24, 9, 16, 4).sound(kSmall));  // odd vtable
  CHECK_FALSE(small_buffer(20, 16, 8, 4).sound(kSmall));  // vtable cut off
  CHECK_FALSE(small_buffer(22, 8, 16, 4).sound(kSmall));  // table cut off
  Bytes outside = small_buffer(24, 8, 16, 4);
  outside.put32(0, 24);
  CHECK_FALSE(outside.sound(kSmall));
  outside.put32(0, 0xFFFFFFF0u);
  CHECK_FALSE(outside.sound(kSmall));
  outside.put32(0, 16);
  outside.put32(16, 17);  // vtable before the buffer
  CHECK_FALSE(outside.sound(kSmall));
  outside.put32(16, static_cast<uint32_t>(-8));  // vtable at the end
  CHECK_FALSE(outside.sound(kSmall));
}

TEST_CASE("vtables and tables have at least their own header, and vtables an even size") {
  for (const uint32_t vtable_bytes : {0u, 2u, 3u, 5u, 7u}) {
    Bytes bytes = small_buffer(24, 8, 16, 4);
    bytes.put16(8, vtable_bytes);
    CHECK_FALSE(bytes.sound(kSmall));
  }
  Bytes bytes = small_buffer(24, 8, 16, 4);
  bytes.put16(8, 4);
  CHECK(bytes.sound(kSmall));  // no fields: all absent, as an older writer leaves them
  CHECK_FALSE(small_buffer(24, 8, 16, 0, 2).sound(kSmall));
  bytes = small_buffer(24, 8, 16, 4);
  bytes.put16(8, 8);
  CHECK(bytes.sound(kSmall));  // one more field, as a newer writer leaves it
}

TEST_CASE("a field lies in its table, behind the header, aligned to its own size") {
  CHECK(small_buffer(24, 8, 16, 0).sound(kSmall));
  CHECK(small_buffer(24, 8, 16, 6).sound(kSmall));
  CHECK_FALSE(small_buffer(24, 8, 16, 2).sound(kSmall));
  CHECK_FALSE(small_buffer(24, 8, 16, 5).sound(kSmall));
  CHECK_FALSE(small_buffer(24, 8, 16, 7).sound(kSmall));
  CHECK_FALSE(small_buffer(24, 8, 16, 8).sound(kSmall));
}

TEST_CASE("a buffer that keeps all rules is sound; without a required field it is not") {
  CHECK(large_buffer().sound(kLarge));
  for (uint32_t field = 0; field < 4; ++field) {
    Bytes bytes = large_buffer();
    bytes.put16(12 + 2 * field, 0);
    CHECK(bytes.sound(kLarge) == (field == 0));  // only the number may be absent
  }
}

TEST_CASE("offsets lead forward, aligned and inside; vectors and strings end inside") {
  Bytes backwards = large_buffer();
  backwards.put32(24, 0);
  backwards.put32(36, static_cast<uint32_t>(24 - 36));  // to what would pass for an empty vector
  CHECK_FALSE(backwards.sound(kLarge));
  Bytes unaligned = large_buffer();
  unaligned.put32(kTextAt, 0);
  unaligned.put32(kTextAt + 4, 0);
  CHECK(unaligned.sound(kLarge));
  unaligned.put32(28, kTextAt + 2 - 28);  // to what would pass for an empty string
  CHECK_FALSE(unaligned.sound(kLarge));
  CHECK_FALSE(large_with(28, 96 - 28));  // its length would lie outside
  CHECK(large_with(kTextAt, 7));         // the next zero byte
  CHECK_FALSE(large_with(kTextAt, 2));   // not terminated
  CHECK_FALSE(large_with(kTextAt, 52));  // terminator outside
  CHECK_FALSE(large_with(kTextAt, 0xFFFFFFFFu));
  CHECK_FALSE(large_with(kListAt, 6));            // 48 bytes where 40 are left
  CHECK_FALSE(large_with(kListAt, 0x20000000u));  // times eight is zero in 32 bits
  CHECK_FALSE(large_with(32, kListAt - 32 - 4));  // elements not aligned to eight
  CHECK_FALSE(large_with(kChildrenAt, 6));
  CHECK_FALSE(large_with(kChildrenAt + 4, 96 - 76));  // child outside
  CHECK_FALSE(large_with(kChildAt, 88));              // child's vtable would be the root offset
  Bytes zero_length = large_buffer();
  zero_length.put32(kTextAt, 0);
  zero_length.put32(kTextAt + 4, 0);
  zero_length.put32(kListAt, 0);
  zero_length.put32(kChildrenAt, 0);
  CHECK(zero_length.sound(kLarge));
}

TEST_CASE("identifier, size and address are checked first") {
  Bytes other = large_buffer();
  other.data[7] = 'X';
  CHECK_FALSE(other.sound(kLarge));
  CHECK_FALSE(check_flatbuffer({nullptr, 0}, kLarge).ok());
  CHECK_FALSE(check_flatbuffer({nullptr, 96}, kLarge).ok());
  alignas(8) uint8_t few[8] = {4, 0, 0, 0, 'T', 'E', 'S', 'T'};
  for (size_t size = 0; size <= 8; ++size) {
    CHECK_FALSE(check_flatbuffer({few, size}, kSmall).ok());
  }
  alignas(8) uint8_t moved[104];
  std::memcpy(moved + 4, large_buffer().data.data(), 96);
  CHECK_FALSE(check_flatbuffer({moved + 4, 96}, kLarge).ok());
}

}  // namespace temper
