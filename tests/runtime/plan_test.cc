#include "runtime/plan.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <vector>

#include "tests/runtime/test_pack.h"

namespace temper {
namespace {

void kernel(float*, const float*, const float*, const float*, const float*, void*, const int32_t*, int32_t, int32_t) {}

// What the shape program yields: grid, workspace bytes, packed tensor, then the layout.
using ShapeNumbers = std::array<int32_t, kShapeOutputs>;
// B of 2 groups of [k = 5][n = 10], packed in blocks of 4.
constexpr ShapeNumbers kPackedB = {12, 128, TEMPER_IN_B, 2, 50, 10, 1, 4, 5, 10, 1, 0, 1, 0};
constexpr ShapeNumbers kNothingPacked = {12, 0, TEMPER_TENSOR_COUNT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

Status plan_of(const ShapeNumbers& numbers, int32_t threads, temper_plan* plan, uint8_t constants = 1u << TEMPER_IN_B,
               uint64_t flops = uint64_t{1} << 40) {
  test::TestPack data = test::plain_pack({{3, 5}, {7, 9}});
  data.workloads[0].dims = {100, -200};
  data.workloads[0].elements = {100, 20, 100, 0, 0};
  data.workloads[0].constants = constants;
  data.workloads[0].flops = flops;
  data.templates[0].dim_count = 2;
  data.templates[0].shape = {};
  test::ProgramWriter shape(&data.templates[0], &data.templates[0].shape);
  for (const int32_t number : numbers) {
    shape.output(shape.constant(number));
  }
  test::OpenPack pack(data);
  temper_facts facts = test::test_facts();
  facts.value[TEMPER_FACT_THREADS] = threads;
  const Space space(&pack.view(), 0, &facts, {pack.values(), pack.intervals()});
  Config config;
  config.choice[1] = 1;
  return make_plan(space, config, kernel, plan);
}

}  // namespace

TEST_CASE("a plan holds kernel, grid, workspace, and the dims followed by the knob values") {
  temper_plan plan;
  REQUIRE(plan_of(kPackedB, 4, &plan).ok());
  CHECK((plan.kernel == kernel));
  CHECK(plan.grid == 12);
  CHECK(plan.threads == 4);
  CHECK(plan.workspace_bytes == 128);
  REQUIRE(plan.arg_count == 4);
  CHECK(plan.args[0] == 100);
  CHECK(plan.args[1] == -200);
  CHECK(plan.args[2] == 3);
  CHECK(plan.args[3] == 9);
  CHECK(plan.packed_tensor == TEMPER_IN_B);
  CHECK(plan.packed_bytes == 2u * 3 * 4 * 5 * 4);  // groups, blocks, block, k, f32
  CHECK(plan.pack_layout[4] == 4);
}

TEST_CASE("without packing nothing is packed, whatever the layout's numbers are") {
  temper_plan plan;
  REQUIRE(plan_of(kNothingPacked, 1, &plan).ok());
  CHECK(plan.packed_tensor == TEMPER_TENSOR_COUNT);
  CHECK(plan.packed_bytes == 0);
}

TEST_CASE("threads are bounded by the facts and by the grid, and are at least one") {
  temper_plan plan;
  for (const auto& [given, expected] :
       {std::array<int32_t, 2>{-3, 1}, {0, 1}, {1, 1}, {12, 12}, {13, 12}, {1000, 12}}) {
    REQUIRE(plan_of(kNothingPacked, given, &plan).ok());
    CHECK(plan.threads == static_cast<uint32_t>(expected));
  }
}

TEST_CASE("a workload too small to feed several threads gets fewer, at least one") {
  temper_plan plan;
  const temper_facts facts = test::test_facts();
  const uint64_t share = uint64_t{20000} * 2 * static_cast<uint64_t>(facts.value[TEMPER_FACT_VECTOR_LANES]) *
                         static_cast<uint64_t>(facts.value[TEMPER_FACT_FMA_PER_CYCLE]);
  REQUIRE(share > 0);
  for (const auto& [flops, expected] :
       {std::array<uint64_t, 2>{0, 1}, {share, 1}, {2 * share - 1, 1}, {2 * share, 2}, {9 * share, 4}}) {
    REQUIRE(plan_of(kNothingPacked, 4, &plan, 1u << TEMPER_IN_B, flops).ok());
    CHECK(plan.threads == expected);
  }
}

TEST_CASE("shapes that make no sense, or would read outside the constant, are bad data") {
  const auto with = [](uint32_t at, int32_t value) {
    ShapeNumbers numbers = kPackedB;
    numbers[at] = value;
    return numbers;
  };
  temper_plan plan;
  CHECK(plan_of(with(0, 0), 1, &plan) == TEMPER_BAD_DATA);  // grid
  CHECK(plan_of(with(0, -1), 1, &plan) == TEMPER_BAD_DATA);
  CHECK(plan_of(with(1, -64), 1, &plan) == TEMPER_BAD_DATA);  // workspace
  CHECK(plan_of(with(1, 100), 1, &plan) == TEMPER_BAD_DATA);
  CHECK(plan_of(with(2, TEMPER_OUT), 1, &plan) == TEMPER_BAD_DATA);  // packed tensor
  CHECK(plan_of(with(2, TEMPER_OUT), 1, &plan, 0x1F) == TEMPER_BAD_DATA);
  CHECK(plan_of(with(2, 6), 1, &plan, 0x1F) == TEMPER_BAD_DATA);
  CHECK(plan_of(with(2, -1), 1, &plan, 0x1F) == TEMPER_BAD_DATA);
  CHECK(plan_of(with(2, TEMPER_IN_A), 1, &plan) == TEMPER_BAD_DATA);  // not constant
  CHECK(plan_of(kPackedB, 1, &plan, 0) == TEMPER_BAD_DATA);
  for (const uint32_t count : {3u, 5u, 7u, 8u, 10u, 12u}) {
    CHECK(plan_of(with(count, 0), 1, &plan) == TEMPER_BAD_DATA);
    CHECK(plan_of(with(count, -1), 1, &plan) == TEMPER_BAD_DATA);
  }
  for (const uint32_t stride : {4u, 6u, 9u, 11u, 13u}) {
    CHECK(plan_of(with(stride, -1), 1, &plan) == TEMPER_BAD_DATA);
  }
  CHECK(plan_of(with(3, 3), 1, &plan) == TEMPER_BAD_DATA);   // a third group lies past the tensor
  CHECK(plan_of(with(4, 51), 1, &plan) == TEMPER_BAD_DATA);  // by one element
  CHECK(plan_of(with(4, INT32_MAX), 1, &plan) == TEMPER_BAD_DATA);
  CHECK(plan_of(with(7, INT32_MAX), 1, &plan) == TEMPER_BAD_DATA);  // packed form of more than 2^31 bytes
}

}  // namespace temper
