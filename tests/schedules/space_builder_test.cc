#include "schedules/space_builder.h"

#include <doctest/doctest.h>

using namespace temper;

namespace {

int32_t run(const ProgramData& program, const ConstantPool& pool, std::vector<int32_t> dims) {
  std::vector<int32_t> values(program.code.size());
  evaluate(program.view(), {{pool.values().data(), pool.values().size()}, {dims.data(), dims.size()}, {}, {}},
           values.data());
  return values[program.outputs[0]];
}

}  // namespace

TEST_CASE("operators compute what the evaluator computes") {
  ConstantPool pool;
  ProgramBuilder b(&pool);
  const Expr x = b.dim(0), y = b.dim(1);
  const auto value = [&](Expr e, int32_t dim0, int32_t dim1) { return run(*b.finish({e}), pool, {dim0, dim1}); };
  CHECK(value(x + y * 3 - 1, 5, 7) == 25);
  CHECK(value(x / y, 17, 5) == 3);
  CHECK(value(x % y, 17, 5) == 2);
  CHECK(value(ceil_div(x, y), 17, 5) == 4);
  CHECK(value(round_up(x, y), 17, 5) == 20);
  CHECK(value(min(x, y) * 100 + max(x, y), 17, 5) == 517);
  CHECK(value(x < y, 4, 5) == 1);
  CHECK(value(x > y, 4, 5) == 0);
  CHECK(value(x >= y, 5, 5) == 1);
  CHECK(value(x <= y, 6, 5) == 0);
  CHECK(value(x == 4 && y != 4, 4, 5) == 1);
  CHECK(value(!(x == 4 || y == 4), 4, 5) == 0);
  CHECK(value(select(x < y, x, y), 4, 5) == 4);
  CHECK(value(log2(x) + log_add(y, y), 8, 512) == 3 * 256 + 512 + 256);
}

TEST_CASE("equal expressions share an instruction and unused ones are dropped") {
  ConstantPool pool;
  ProgramBuilder b(&pool);
  const Expr product = b.dim(0) * b.dim(1);
  const Expr unused = b.dim(2) / 5;
  CHECK(unused.builder == &b);
  const ProgramData program = *b.finish({product + b.dim(0) * b.dim(1)});
  CHECK(program.code.size() == 4);  // two dims, their product, the sum
  CHECK(pool.values().empty());
  CHECK(run(program, pool, {3, 4, 0}) == 24);
}

TEST_CASE("constants fold as the device would compute them") {
  ConstantPool pool;
  ProgramBuilder b(&pool);
  const Expr saturated = b.constant(INT32_MAX) + 1;
  const ProgramData program = *b.finish({select(b.constant(3) < 2, 5, saturated / 0)});
  CHECK(program.code.size() == 1);
  CHECK(run(program, pool, {}) == 0);  // a division by 0 gives 0
  CHECK(b.finish({b.dim(0) * 1 + 0})->code.size() == 1);
}

TEST_CASE("a program beyond the evaluator's limit is refused") {
  ConstantPool pool;
  ProgramBuilder b(&pool);
  Expr sum = b.dim(0);
  for (uint32_t i = 1; i < kMaxInstructions; ++i) {
    sum = sum * sum;
  }
  CHECK(b.finish({sum})->code.size() == kMaxInstructions);
  const Result<ProgramData> refused = b.finish({sum * sum});
  REQUIRE(!refused.ok());
  CHECK(refused.error().message == "a program needs 256 instructions, limit 255");
}
