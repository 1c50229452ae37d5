// Writes real files of every format to start the fuzzers from: write_seeds FOLDER makes FOLDER/LOADER/seed_WHAT. Called
// by hand when a format changes, and by tools/fuzz.
#define DOCTEST_CONFIG_IMPLEMENT  // for test_pack, which checks as tests do
#include <doctest/doctest.h>

#include "tests/fuzz/files.h"
#include "tests/fuzz/first_boot.h"
#include "tests/fuzz/loaders.h"
#include "tests/fuzz/samples.h"
#include "tests/tools/history_samples.h"

namespace temper::test {
namespace {

struct Seed {
  const char* path;  ///< LOADER/NAME
  Bytes bytes;
};

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<Seed> seeds() {
  Bytes image = sample_history(3, {.trials = 6, .program_bytes = 8});
  image.insert(image.begin(), 16, uint8_t{0xA5});
  image.insert(image.end(), 64, uint8_t{0xFF});
  return {{"history/seed_file", sample_boots(kFileGeometry)},
          {"history/seed_flash", sample_boots(kFlashGeometry)},
          {"history/seed_two_regions", sample_two_regions()},
          {"table/seed_own", sample_table(kBootTarget)},
          {"table/seed_other_device", sample_table(kBootTarget + 1)},
          {"winners/seed_baked", sample_baked_table()},
          {"pack/seed_boot", boot_pack()},
          {"pack/seed_probed", sample_pack()},
          {"pack/seed_board", sample_board_pack()},
          {"history_source/seed_file", sample_boots(kFileGeometry)},
          {"history_source/seed_image", image},
          {"history_source/seed_log", bytes_of(sample_console_log())},
          {"workloads/seed_network", bytes_of(sample_workloads())},
          {"options/seed_duration", bytes_of("1.5h")},
          {"options/seed_shape", bytes_of("input=1x3x224x224")},
          {"options/seed_number", bytes_of("0x1F000")},
          {"options/seed_overflow", bytes_of("region `FLASH' overflowed by 1234 bytes\n")},
          {"options/seed_map", bytes_of("Memory Configuration\n\nName Origin Length\nFLASH 0x08000000 0x00080000 xr\n\n"
                                        "Linker script and memory map\n\n .text.f 0x08000000 0x20 a/libx.a(y.cc.o)\n"
                                        " .text.a_long_name\n                0x08000020 0x10 a/z.o\n"
                                        "/DISCARD/\n .text.g 0x0 0x4 b.o\n")}};
}

}  // namespace
}  // namespace temper::test

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fputs("usage: write_seeds FOLDER\n", stderr);
    return 2;
  }
  for (const temper::test::Seed& seed : temper::test::seeds()) {
    const std::filesystem::path path = std::filesystem::path(arguments[1]) / seed.path;
    std::filesystem::create_directories(path.parent_path());
    if (!temper::test::write_file(path, seed.bytes.data(), seed.bytes.size())) {
      std::fprintf(stderr, "write_seeds: cannot write %s\n", path.c_str());
      return 3;
    }
  }
  return 0;
}
