#include "codegen/winners.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "tests/codegen/object_symbols.h"

namespace temper {
namespace {

WinnersContents some_contents(const Target& target) {
  Workload matmul;
  matmul.op = Operator::kMatmul;
  matmul.matmul = {1, 9, 10, 12, false, false, false, false, false, true};
  WinnersContents contents;
  contents.name = "net";
  contents.table.assign(200, 7);
  for (const int32_t tile_m : {1, 4}) {
    contents.kernels.push_back({TemplateId::kGemm,
                                KernelMode::kBaked,
                                dims_of(matmul),
                                {tile_m, 1, target.lanes, 1, kDirect, kConstant, 16, 32, 24, 0},
                                "net_kernel_" + std::to_string(contents.kernels.size())});
  }
  contents.constants = {{"net_constant_dense_0", std::vector<uint8_t>(128, 1)},
                        {"net_constant_dense_1", std::vector<uint8_t>(128, 2)}};
  return contents;
}

/// Members of an ar archive by name. A header is 60 characters: name, ended by '/', in 16, the size in 10 from 48.
std::map<std::string, std::vector<uint8_t>> members(const std::vector<uint8_t>& archive) {
  std::map<std::string, std::vector<uint8_t>> found;
  const std::string text(archive.begin(), archive.end());
  REQUIRE(text.rfind("!<arch>\n", 0) == 0);
  size_t at = 8;
  while (at + 60 <= text.size()) {
    const std::string name = text.substr(at, 16);
    const size_t size = std::strtoul(text.substr(at + 48, 10).c_str(), nullptr, 10);
    REQUIRE(size <= text.size() - at - 60);
    found[name.substr(0, std::max<size_t>(name.find('/'), 1))] = std::vector<uint8_t>(
        archive.begin() + static_cast<long>(at + 60), archive.begin() + static_cast<long>(at + 60 + size));
    at += 60 + size + size % 2;
  }
  return found;
}

TEST_CASE("the archive of every target defines the winners, needs its own kernels alone, and has a symbol table") {
  for (const std::string& name : target_names()) {
    CAPTURE(name);
    const Target target = *find_target(name);
    const Result<WinnersArchive> archive = compile_winners(target, some_contents(target));
    REQUIRE_MESSAGE(archive.ok(), (archive.ok() ? "" : archive.error().message));
    CHECK(archive->kernel_bytes > 0);
    CHECK(archive->constant_bytes == 256);
    const auto all = members(archive->bytes);
    REQUIRE(all.size() == 3);
    REQUIRE(all.count("net_winners.o") == 1);
    REQUIRE(all.count("net_kernels.o") == 1);
    const std::vector<std::string> kernels = {"net_kernel_0", "net_kernel_1"};
    const ObjectSymbols data = object_symbols(all.at("net_winners.o"));
    CHECK(data.defined == std::vector<std::string>{"net_winners"});
    CHECK(data.undefined == kernels);
    const ObjectSymbols code = object_symbols(all.at("net_kernels.o"));
    CHECK(code.defined == kernels);
    CHECK(code.undefined == std::vector<std::string>{});
  }
}

TEST_CASE("the same contents give the same archive") {
  const Target target = *find_target("cortex-m4");
  CHECK(compile_winners(target, some_contents(target))->bytes == compile_winners(target, some_contents(target))->bytes);
}

TEST_CASE("a name that is no identifier and a kernel that the target cannot run are refused") {
  const Target target = *find_target("cortex-m4");
  WinnersContents contents = some_contents(target);
  contents.name = "7 nets";
  CHECK(compile_winners(target, contents).error().code == TEMPER_INVALID_ARGUMENT);
  contents = some_contents(target);
  contents.kernels[1].knobs[kKnobLanes] = 16;
  const Result<WinnersArchive> refused = compile_winners(target, contents);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == TEMPER_UNSUPPORTED);
  CHECK(refused.error().message.find("net_kernel_1") != std::string::npos);
}

}  // namespace
}  // namespace temper
