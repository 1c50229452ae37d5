#include "tools/whole_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

namespace temper {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a file is written whole, replaces the old one and leaves nothing beside it") {
  const fs::path folder = fs::path(TEMPER_SCRATCH) / "whole";
  fs::remove_all(folder);
  const std::string path = (folder / "deep" / "file").string();
  REQUIRE(write_whole_file(path, {1, 2, 3}));
  REQUIRE(write_whole_file(path, {4, 5, 6, 7, 8, 9, 10, 11, 12}));
  size_t bytes = 0;
  const Result<std::vector<uint64_t>> words = read_whole_file(path, &bytes);
  REQUIRE(words);
  CHECK(bytes == 9);
  uint8_t last;
  std::memcpy(&last, reinterpret_cast<const uint8_t*>(words->data()) + 8, 1);
  CHECK(last == 12);
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder / "deep")) {
    ++entries;
  }
  CHECK(entries == 1);
}

TEST_CASE("a place that cannot be written is an error and an absent file is not found") {
  const Result<bool> written = write_whole_file("/dev/full/file", {1});
  REQUIRE_FALSE(written.ok());
  CHECK(written.error().code == TEMPER_STORAGE_ERROR);
  size_t bytes = 0;
  const Result<std::vector<uint64_t>> absent =
      read_whole_file((fs::path(TEMPER_SCRATCH) / "no_such_file").string(), &bytes);
  REQUIRE_FALSE(absent.ok());
  CHECK(absent.error().code == TEMPER_NOT_FOUND);
  const Result<std::vector<uint64_t>> folder = read_whole_file(TEMPER_SCRATCH, &bytes);
  REQUIRE_FALSE(folder.ok());
  CHECK(folder.error().message.find("not a file") != std::string::npos);
}

}  // namespace
}  // namespace temper
