#include "tools/build_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>

#include "tools/whole_file.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

/// Scratch with a kit in it, as far as a build folder looks at one.
struct Scratch {
  explicit Scratch(const std::string& name) : root(fs::path(TEMPER_SCRATCH) / name), out(root / "out") {
    fs::remove_all(root);
    kit.root = (root / "kit").string();
    kit.toolchain = kit.root + "/toolchains/cortex-m4.cmake";
    put(kit.toolchain);
    put(kit.root + "/toolchains/cortex-m7.cmake");
    fs::create_directories(kit.firmware());
  }
  static void put(const fs::path& path, const std::string& text = "text") {
    make_folder_of(path.string());
    REQUIRE(write_whole_file(path.string(), text));
  }
  void put_cache(const std::string& toolchain, const std::string& project = "temper_firmware") const {
    put(out / "cmake/object.o");
    put(out / "cmake/CMakeCache.txt", "# a comment: x=y\nCMAKE_PROJECT_NAME:STATIC=" + project +
                                          "\nCMAKE_HOME_DIRECTORY:INTERNAL=" + kit.firmware() +
                                          "\nCMAKE_CACHEFILE_DIR:INTERNAL=" + (out / "cmake").string() +
                                          "\nCMAKE_TOOLCHAIN_FILE:UNINITIALIZED=" + toolchain + "\n");
  }
  Result<bool> clear() const {
    const Result<BuildFolder> folder = BuildFolder::open(out.string());
    REQUIRE(folder.ok());
    return folder->clear(kit, "net");
  }

  fs::path root, out;
  BuildKit kit;
};

TEST_CASE("one build at a time works in a folder") {
  const Scratch scratch("build_folder_held");
  std::optional<Result<BuildFolder>> first = BuildFolder::open(scratch.out.string());
  REQUIRE(first->ok());
  const Result<BuildFolder> second = BuildFolder::open(scratch.out.string());
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code == TEMPER_BUSY);
  CHECK(second.error().message.find(scratch.out.string()) != std::string::npos);
  first.reset();
  CHECK(BuildFolder::open(scratch.out.string()).ok());
}

TEST_CASE("a place where no folder can be is named before anything is built") {
  const Scratch scratch("build_folder_file");
  Scratch::put(scratch.root / "file");
  for (const char* place : {"file", "file/out"}) {
    const Result<BuildFolder> folder = BuildFolder::open((scratch.root / place).string());
    REQUIRE_FALSE(folder.ok());
    CHECK(folder.error().code == TEMPER_STORAGE_ERROR);
    CHECK(folder.error().message.find(place) != std::string::npos);
  }
}

TEST_CASE("a path that CMake takes apart is refused before anything is made, one with spaces is not") {
  const Scratch scratch("build_folder_path");
  for (const char* place : {"a;b", "a\"b", "a\\b", "a$b", "a\nb"}) {
    CAPTURE(place);
    const Result<BuildFolder> folder = BuildFolder::open((scratch.root / place).string());
    REQUIRE_FALSE(folder.ok());
    CHECK(folder.error().code == TEMPER_INVALID_ARGUMENT);
    CHECK_FALSE(fs::exists(scratch.root / place));
  }
  CHECK(BuildFolder::open((scratch.root / "a b'c").string()).ok());
}

TEST_CASE("nothing of an earlier build passes for this one's, and other files stay") {
  const Scratch scratch("build_folder_stale");
  const std::vector<const char*> stale = {"first_boot.elf",   "first_boot",       "first_boot.map",
                                          "collect_boot.elf", "winners_boot",     "build.json",
                                          "emulate",          "net.pack",         "net_pack.o",
                                          "net_pack.so",      "size_report.json", "lib/libtemper_port_linux.a"};
  const std::vector<const char*> other = {"net.workloads", "net.a", "mine.txt", "lib/mine.a", "cmake/mine.cmake"};
  for (const char* file : stale) {
    Scratch::put(scratch.out / file);
  }
  for (const char* file : other) {
    Scratch::put(scratch.out / file);
  }
  REQUIRE(scratch.clear().ok());
  for (const char* file : stale) {
    CAPTURE(file);
    CHECK_FALSE(fs::exists(scratch.out / file));
  }
  for (const char* file : other) {
    CAPTURE(file);
    CHECK(fs::exists(scratch.out / file));
  }
}

TEST_CASE("a CMake folder of the same target is kept, of another target or place it is made anew") {
  const Scratch scratch("build_folder_cmake");
  scratch.put_cache(scratch.kit.toolchain);
  REQUIRE(scratch.clear().ok());
  CHECK(fs::exists(scratch.out / "cmake/object.o"));
  scratch.put_cache(scratch.kit.root + "/toolchains/cortex-m7.cmake");
  REQUIRE(scratch.clear().ok());
  CHECK_FALSE(fs::exists(scratch.out / "cmake"));
  scratch.put_cache(scratch.kit.toolchain);
  fs::rename(scratch.out, scratch.root / "moved");
  fs::copy(scratch.root / "moved", scratch.out, fs::copy_options::recursive);
  fs::remove_all(scratch.root / "moved/cmake/object.o");
  REQUIRE(scratch.clear().ok());
  CHECK(fs::exists(scratch.out / "cmake/object.o"));
  const Result<BuildFolder> moved = BuildFolder::open((scratch.root / "moved").string());
  REQUIRE(moved.ok());
  REQUIRE(moved->clear(scratch.kit, "net").ok());
  CHECK_FALSE(fs::exists(scratch.root / "moved/cmake"));
}

TEST_CASE("a CMake folder of another project is never deleted") {
  const Scratch scratch("build_folder_foreign");
  scratch.put_cache(scratch.kit.toolchain, "users_own");
  const Result<bool> cleared = scratch.clear();
  REQUIRE_FALSE(cleared.ok());
  CHECK(cleared.error().code == TEMPER_INVALID_ARGUMENT);
  CHECK(cleared.error().message.find("users_own") != std::string::npos);
  CHECK(fs::exists(scratch.out / "cmake/object.o"));
}

}  // namespace
}  // namespace temper
