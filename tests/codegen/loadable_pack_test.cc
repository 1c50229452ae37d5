// Kernel packs as shared objects, opened by the Linux port: whole ones, and files that are none.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "codegen/kernel_pack.h"
#include "runtime/pack_view.h"
#include "temper/port_linux.h"
#include "temper/temper.h"

using namespace temper;

namespace {

namespace fs = std::filesystem;

std::string folder() {
  const std::string path = TEMPER_SCRATCH;
  fs::create_directories(path);
  return path;
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The pack of one small matmul for this machine, as bytes of a shared object.
std::string loadable_pack() {
  const Result<Workload> workload = parse_workload("matmul f32 1x8x16x24 bconst bias");
  REQUIRE(workload.ok());
  KernelPackOptions options;
  options.target = native_target();
  options.facts = {
      {options.target.lanes, options.target.registers, 32768, 1 << 20, 8 << 20, 1, 1, 3000000, 8000, 4, 2, 1}};
  options.name = "small";
  options.most_variants = 2;
  const Result<KernelPack> pack = make_kernel_pack({{*workload, "dense", 1}}, options);
  REQUIRE_MESSAGE(pack.ok(), (pack.ok() ? "" : pack.error().message));
  CHECK(pack->kernel_bytes > 0);
  const std::string object = folder() + "/small_pack.o", library = folder() + "/small_pack.so";
  write(object, {pack->object.bytes.begin(), pack->object.bytes.end()});
  const std::string link = std::string(TEMPER_COMPILER) +
                           " -shared -nostdlib -Wl,--defsym=temper_loadable_pack=small_pack -o " + library + " " +
                           object;
  REQUIRE(std::system(link.c_str()) == 0);
  return read(library);
}

temper_status open_bytes(const std::string& bytes) {
  const std::string path = folder() + "/tried.so";
  write(path, bytes);
  const temper_pack* pack = nullptr;
  temper_linux_pack* handle = nullptr;
  const temper_status status = temper_linux_pack_open(path.c_str(), &pack, &handle);
  CHECK((status == TEMPER_OK) == (handle != nullptr));
  CHECK((status == TEMPER_OK) == (pack != nullptr));
  temper_linux_pack_close(handle);
  return status;
}

}  // namespace

TEST_CASE("a loaded pack executes, and files that are none are refused") {
  const std::string bytes = loadable_pack();
  const temper_pack* pack = nullptr;
  temper_linux_pack* handle = nullptr;
  REQUIRE(temper_linux_pack_open((folder() + "/small_pack.so").c_str(), &pack, &handle) == TEMPER_OK);
  CHECK(pack->kernel_count >= 1);
  PackView view;
  REQUIRE(PackView::open(*pack, &view, nullptr).ok());
  CHECK(std::string(view.workload(0).name) == "dense");
  CHECK(view.workload(0).digest != 0);
  temper_linux_pack_close(handle);

  CHECK(open_bytes(bytes) == TEMPER_OK);
  for (size_t length = 0; length < bytes.size(); length += 97) {
    CAPTURE(length);
    CHECK(open_bytes(bytes.substr(0, length)) == TEMPER_BAD_DATA);
  }
  CHECK(open_bytes("#!/bin/sh\nexit 0\n") == TEMPER_BAD_DATA);
  std::string foreign = bytes;
  foreign[18] = static_cast<char>(foreign[18] ^ 0x55);  // e_machine
  CHECK(open_bytes(foreign) == TEMPER_UNSUPPORTED);
  std::string damaged = bytes;  // the data's format identifier
  const size_t identifier = damaged.find("TMPK");
  REQUIRE(identifier != std::string::npos);
  damaged[identifier] = 'X';
  CHECK(open_bytes(damaged) == TEMPER_BAD_DATA);
}

TEST_CASE("what cannot be opened says why") {
  const temper_pack* pack = nullptr;
  temper_linux_pack* handle = nullptr;
  CHECK(temper_linux_pack_open((folder() + "/absent.so").c_str(), &pack, &handle) == TEMPER_NOT_FOUND);
  CHECK(temper_linux_pack_open(folder().c_str(), &pack, &handle) == TEMPER_BAD_DATA);
  CHECK(temper_linux_pack_open(nullptr, &pack, &handle) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_linux_pack_open("absent.so", nullptr, &handle) == TEMPER_INVALID_ARGUMENT);
  temper_linux_pack_close(nullptr);
}
