#include "schedules/fixed_dims.h"

#include <doctest/doctest.h>

#include "runtime/pack_view.h"

using namespace temper;

namespace {

/// 1x1 convolutions in NHWC, 32 -> 64 channels.
NetworkWorkload pointwise(const std::string& name, int32_t height) {
  Workload workload;
  workload.op = Operator::kConv2d;
  workload.conv.channels = 32;
  workload.conv.height = height;
  workload.conv.width = 16;
  workload.conv.out_channels = 64;
  workload.conv.layout = Layout::kNhwc;
  workload.conv.filter_constant = true;
  const Result<Workload> valid = validated(workload);
  REQUIRE(valid.ok());
  return {*valid, name, 1};
}

NetworkWorkload row(const std::string& name) {
  Workload workload;
  workload.op = Operator::kMatmul;
  workload.matmul.m = 1;
  workload.matmul.n = 12;
  workload.matmul.k = 64;
  const Result<Workload> valid = validated(workload);
  REQUIRE(valid.ok());
  return {*valid, name, 1};
}

/// Of scalars: tiles of so many rows by four columns, B packed as a constant.
PackVariant variant(uint16_t rows) { return {TemplateId::kGemm, {rows, 4, 1, 2, kDirect, kConstant}, 0}; }

uint32_t hash_of(const std::vector<NetworkWorkload>& workloads, const PackVariant& one) {
  PackOptions options;
  options.target = "test";
  options.variants = {one};
  options.digests = false;
  const Result<std::vector<uint8_t>> bytes = write_pack(workloads, options);
  REQUIRE_MESSAGE(bytes.ok(), (bytes.ok() ? "" : bytes.error().message));
  std::vector<uint64_t> words(bytes->size() / 8 + 1);
  std::copy(bytes->begin(), bytes->end(), reinterpret_cast<uint8_t*>(words.data()));
  PackView view;
  REQUIRE(PackView::open({words.data(), bytes->size(), nullptr, 0}, &view, nullptr).ok());
  return view.pack_hash();
}

}  // namespace

TEST_CASE("a dim is fixed when all workloads share it that the variant may serve") {
  const std::vector<NetworkWorkload> workloads = {pointwise("high", 24), pointwise("low", 8), row("row")};
  std::vector<PackVariant> variants = {variant(4)};
  REQUIRE(fix_dims(workloads, &variants).ok());
  const FixedDims& fixed = variants[0].fixed;  // four rows: not of the matrix that has one
  REQUIRE(fixed.size() == size_t{kGemmDimCount});
  CHECK(fixed[kGemmK] == 32);
  CHECK(fixed[kGemmN] == 64);
  CHECK(fixed[kGemmView] == kViewPlain);
  CHECK(fixed[kGemmAddend] == 0);
  CHECK(!fixed[kGemmM]);
  REQUIRE(fix_dims({workloads[0]}, &variants).ok());
  CHECK(fixed[kGemmM] == 24 * 16);
  REQUIRE(fix_dims({workloads[2]}, &variants).ok());
  CHECK(fixed.empty());
}

TEST_CASE("a pack with a workload that a kernel was not compiled for is refused by name") {
  std::vector<PackVariant> variants = {variant(4)};
  REQUIRE(fix_dims({pointwise("high", 24)}, &variants).ok());
  PackOptions options;
  options.target = "test";
  options.variants = variants;
  options.digests = false;
  CHECK(write_pack({pointwise("high", 24)}, options).ok());
  CHECK(write_pack({pointwise("high", 24), row("row")}, options).ok());  // which the variant cannot serve
  const Result<std::vector<uint8_t>> refused = write_pack({pointwise("high", 24), pointwise("low", 8)}, options);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == TEMPER_BAD_DATA);
  CHECK(refused.error().message.find("low has 128") != std::string::npos);
}

TEST_CASE("the pack's hash tells kernels apart by what is fixed in them") {
  const std::vector<NetworkWorkload> high = {pointwise("high", 24)}, low = {pointwise("low", 8)};
  const auto hash = [](const std::vector<NetworkWorkload>& workloads) {
    std::vector<PackVariant> variants = {variant(4)};
    REQUIRE(fix_dims(workloads, &variants).ok());
    return hash_of(workloads, variants[0]);
  };
  CHECK(hash_of(high, variant(4)) == hash_of(low, variant(4)));
  CHECK(hash(high) != hash(low));
  CHECK(hash(high) != hash_of(high, variant(4)));
  CHECK(hash(high) == hash(high));
}
