// The table that write_table_source wrote, compiled as C by the build, is the table that write_table makes.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/runtime/written_table.h"

extern "C" {
extern const unsigned char WRITTEN_TABLE[];
extern const size_t WRITTEN_TABLE_bytes;
}

namespace temper {
namespace {

TEST_CASE("a table compiled from C source opens in place and equals the one in memory") {
  const Result<std::vector<uint8_t>> written = test::written_table();
  REQUIRE(written.ok());
  REQUIRE(WRITTEN_TABLE_bytes == written->size());
  CHECK(std::memcmp(WRITTEN_TABLE, written->data(), written->size()) == 0);
  CHECK(reinterpret_cast<uintptr_t>(WRITTEN_TABLE) % 8 == 0);
  TableView view;
  CHECK(TableView::open({WRITTEN_TABLE, WRITTEN_TABLE_bytes}, &view, nullptr).ok());
}

}  // namespace
}  // namespace temper
