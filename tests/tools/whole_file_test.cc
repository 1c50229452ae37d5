#include "tools/whole_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace temper {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a file is written whole, replaces the old one and leaves nothing beside it") {
  const fs::path folder = fs::path(TEMPER_SCRATCH) / "whole";
  fs::remove_all(folder);
  const std::string path = (folder / "deep" / "file").string();
  make_folder_of(path);
  REQUIRE(write_whole_file(path, std::vector<uint8_t>{1, 2, 3}));
  REQUIRE(write_whole_file(path, std::vector<uint8_t>{4, 5, 6, 7, 8, 9, 10, 11, 12}));
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
  const Result<bool> written = write_whole_file("/dev/full/file", "1");
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

TEST_CASE("a pipe gets the bytes, a link stays a link, and permissions stay as they were") {
  const fs::path folder = fs::path(TEMPER_SCRATCH) / "kinds";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string pipe = (folder / "pipe").string(), link = (folder / "link").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  REQUIRE(write_whole_file(pipe, "text"));
  char read_back[8] = {};
  CHECK(::read(reader, read_back, sizeof read_back) == 4);
  ::close(reader);
  CHECK(fs::is_fifo(pipe));

  REQUIRE(write_whole_file((folder / "file").string(), "old"));
  fs::permissions(folder / "file", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file", link);
  REQUIRE(write_whole_file(link, "newer"));
  CHECK(fs::is_symlink(link));
  CHECK(fs::file_size(folder / "file") == 5);
  CHECK(fs::status(folder / "file").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("whether a file could be written is told beforehand and leaves nothing behind") {
  const fs::path folder = fs::path(TEMPER_SCRATCH) / "beforehand";
  fs::remove_all(folder);
  fs::create_directories(folder);
  CHECK(can_write((folder / "new").string()));
  CHECK(fs::is_empty(folder));
  const Result<bool> missing = can_write((folder / "absent" / "new").string());
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message.find("absent") != std::string::npos);
  REQUIRE(write_whole_file((folder / "old").string(), "text"));
  CHECK(can_write((folder / "old").string()));
  CHECK(fs::file_size(folder / "old") == 4);
}

TEST_CASE("an output that is an input, or named twice, is wrong use whatever leads there") {
  const fs::path folder = fs::path(TEMPER_SCRATCH) / "apart";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string input = (folder / "input").string(), link = (folder / "link").string();
  const std::string fresh = (folder / "fresh").string(), roundabout = (folder / "." / "fresh").string();
  REQUIRE(write_whole_file(input, "kept"));
  fs::create_symlink("input", link);
  for (const std::string& output : {input, link}) {
    const Result<bool> apart = keep_apart({"", output}, {"absent", input});
    REQUIRE_FALSE(apart.ok());
    CHECK(apart.error().code == TEMPER_INVALID_ARGUMENT);
    CHECK(apart.error().message.find(output) != std::string::npos);
  }
  CHECK_FALSE(keep_apart({fresh, roundabout}, {}).ok());
  CHECK(keep_apart({fresh, "-", "-", "", "", "/dev/null", "/dev/null"}, {input, "", "/dev/null"}).ok());
}

TEST_CASE("a file larger than any of ours is refused before memory is asked for") {
  const fs::path path = fs::path(TEMPER_SCRATCH) / "giant";
  REQUIRE(write_whole_file(path.string(), "x"));
  fs::resize_file(path, uint64_t{1} << 40);  // sparse
  size_t bytes = 0;
  const Result<std::vector<uint64_t>> words = read_whole_file(path.string(), &bytes);
  REQUIRE_FALSE(words.ok());
  CHECK(words.error().code == TEMPER_BAD_DATA);
  fs::remove(path);
}

}  // namespace
}  // namespace temper
