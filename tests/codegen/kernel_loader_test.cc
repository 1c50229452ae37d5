#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "codegen/kernel_compiler.h"

namespace temper {
namespace {

ObjectFile product_kernel(int32_t k, const std::string& symbol) {
  Workload workload;
  workload.op = Operator::kMatmul;
  workload.matmul = {1, 1, 1, k, false, false, false, false, false, false};
  const std::vector<int32_t> knobs = {1, 1, 1, 1, kDirect, kDirect, 1, 1, k, 0};
  Result<ObjectFile> object =
      compile_kernels(native_target(), {{TemplateId::kGemm, KernelMode::kBaked, dims_of(workload), knobs, symbol}});
  REQUIRE(object.ok());
  return *object;
}

float run(temper_kernel kernel) {
  const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  float out = 0.0f;
  kernel(&out, ones, ones, nullptr, nullptr, nullptr, nullptr, 0, 1);
  return out;
}

size_t mapped_pages() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

}  // namespace

TEST_CASE("objects with the same symbol live side by side") {
  Result<KernelLoader> loader = KernelLoader::create();
  REQUIRE(loader.ok());
  uint32_t first = 0, second = 0;
  const Result<temper_kernel> three = (*loader).load(product_kernel(3, "kernel").bytes, "kernel", &first);
  const Result<temper_kernel> five = (*loader).load(product_kernel(5, "kernel").bytes, "kernel", &second);
  REQUIRE(three.ok());
  REQUIRE(five.ok());
  CHECK(first != second);
  CHECK(run(*three) == 3.0f);
  CHECK(run(*five) == 5.0f);
  (*loader).unload(first);
  CHECK(run(*five) == 5.0f);
}

TEST_CASE("a missing symbol and bytes that are no object are told, and the loader goes on") {
  Result<KernelLoader> loader = KernelLoader::create();
  REQUIRE(loader.ok());
  uint32_t handle = 0;
  const ObjectFile object = product_kernel(2, "kernel");
  const Result<temper_kernel> missing = (*loader).load(object.bytes, "other", &handle);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message.find("other") != std::string::npos);
  CHECK_FALSE((*loader).load({1, 2, 3, 4}, "kernel", &handle).ok());
  CHECK((*loader).load(object.bytes, "kernel", &handle).ok());
}

TEST_CASE("unload gives the memory of a kernel back") {
  Result<KernelLoader> loader = KernelLoader::create();
  REQUIRE(loader.ok());
  const ObjectFile object = product_kernel(2, "kernel");
  const auto cycle = [&](int count) {
    for (int i = 0; i < count; ++i) {
      uint32_t handle = 0;
      REQUIRE((*loader).load(object.bytes, "kernel", &handle).ok());
      (*loader).unload(handle);
    }
  };
  cycle(100);
  const size_t before = mapped_pages();
  cycle(500);
  CHECK(mapped_pages() < before + 500);  // one page for each kernel kept would show
}

}  // namespace temper
