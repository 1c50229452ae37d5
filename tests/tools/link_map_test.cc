#include "tools/link_map.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace temper;

namespace {

constexpr const char* kMap = R"(Archive member included to satisfy reference by file (symbol)

Memory Configuration

Name             Origin             Length             Attributes
FLASH            0x0000000000000000 0x0000000000080000 xr
RAM              0x0000000020000000 0x0000000000030000 xrw
*default*        0x0000000000000000 0xffffffffffffffff

Linker script and memory map

LOAD first_boot.o
.text           0x0000000000000000     0x1234
 *(.vectors)
 .vectors       0x0000000000000000       0x40 CMakeFiles/board.dir/startup.c.obj
 .text.main     0x0000000000000040      0x100 CMakeFiles/first_boot.dir/first_boot.c.obj
 .text._ZN6temper10BoardTuner4stepEv
                0x0000000000000140      0x200 temper/runtime/libtemper_runtime.a(board_tuner.cc.obj)
                0x0000000000000140                _ZN6temper10BoardTuner4stepEv
 .text.empty    0x0000000000000340        0x0 temper/runtime/libtemper_runtime.a(plan.cc.obj)
 *fill*         0x0000000000000340        0x8
.rodata         0x0000000000000400      0x300
 .rodata        0x0000000000000400      0x300 /out/ds cnn_pack.o
.bss            0x0000000020000000      0x500
 .bss.pool      0x0000000020000000      0x500 CMakeFiles/first_boot.dir/first_boot.c.obj
 .debug_info    0x0000000000000000      0x999 CMakeFiles/first_boot.dir/first_boot.c.obj
/DISCARD/
 .comment       0x0000000000000000       0x20 CMakeFiles/first_boot.dir/first_boot.c.obj
 .text.gone     0x0000000000000000       0x20 CMakeFiles/first_boot.dir/first_boot.c.obj
OUTPUT(first_boot.elf elf32-littlearm)
)";

}  // namespace

TEST_CASE("a linker's map tells memories and what each object takes") {
  const LinkMap map = parse_link_map(kMap);
  CHECK(map.memories == std::map<std::string, uint64_t>{{"FLASH", 0x80000}, {"RAM", 0x30000}});
  REQUIRE(map.entries.size() == 5);
  CHECK(map.entries[0].object == "CMakeFiles/board.dir/startup.c.obj");
  CHECK(map.entries[0].kind == SectionKind::kCode);
  CHECK(map.entries[0].bytes == 0x40);
  CHECK(map.entries[2].object == "temper/runtime/libtemper_runtime.a(board_tuner.cc.obj)");
  CHECK(map.entries[2].bytes == 0x200);
  CHECK(map.entries[3].object == "/out/ds cnn_pack.o");
  CHECK(map.entries[3].kind == SectionKind::kConstants);
  CHECK(map.entries[4].kind == SectionKind::kZeroed);
}

TEST_CASE("what is no map is empty, wherever it is cut") {
  const std::string whole = kMap;
  for (size_t length = 0; length <= whole.size(); ++length) {
    const LinkMap map = parse_link_map(std::string_view(whole).substr(0, length));
    CHECK(map.entries.size() <= 5);
  }
  CHECK(parse_link_map("").entries.empty());
  CHECK(parse_link_map("no map at all\n .text 0x1 0x2 x.o\n").entries.empty());
}

TEST_CASE("overflows are read from what the linker printed") {
  const auto overflows = parse_overflows(
      "ld: first_boot.elf section `.text' will not fit in region `FLASH'\n"
      "ld: region `FLASH' overflowed by 1234 bytes\n"
      "ld: region `RAM' overflowed by 64 bytes\ncollect2: error: ld returned 1 exit status\n");
  CHECK(overflows == std::map<std::string, uint64_t>{{"FLASH", 1234}, {"RAM", 64}});
  CHECK(parse_overflows("ld: undefined reference to `f'\n").empty());
}

TEST_CASE("the stem of an object is its source's name") {
  CHECK(object_stem("a/b/libtemper_runtime.a(board_tuner.cc.obj)") == "board_tuner");
  CHECK(object_stem("x/first_boot.c.obj") == "first_boot");
  CHECK(object_stem("plain") == "plain");
}
