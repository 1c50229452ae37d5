#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/random.h"
#include "temper/temper.h"

namespace {

// Memory aligned to 64 bytes that ends where it says, so that a sanitizer sees what is written past it.
struct Aligned {
  explicit Aligned(size_t bytes)
      : data(static_cast<unsigned char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), std::free) {}
  std::unique_ptr<unsigned char, void (*)(void*)> data;
};

// Counts visits of each work item in `out` and marks its workspace; args[0] is the workspace size in bytes.
void counting_kernel(float* out, const float*, const float*, const float*, const float*, void* workspace,
                     const int32_t* args, int32_t begin, int32_t end) {
  for (int32_t i = begin; i < end; ++i) {
    out[i] += 1.0f;
  }
  for (int32_t i = 0; i < args[0]; ++i) {
    ++static_cast<unsigned char*>(workspace)[i];
  }
}

temper_plan counting_plan(int32_t grid, uint32_t threads, uint32_t workspace_bytes) {
  temper_plan plan{};
  plan.kernel = counting_kernel;
  plan.grid = grid;
  plan.threads = threads;
  plan.workspace_bytes = workspace_bytes;
  plan.packed_tensor = TEMPER_TENSOR_COUNT;
  plan.arg_count = 1;
  plan.args[0] = static_cast<int32_t>(workspace_bytes);
  return plan;
}

struct Threads {
  uint32_t calls = 0;
  uint32_t last_count = 0;
};

void parallel_for(void* self, uint32_t count, void (*body)(void*, uint32_t), void* context) {
  Threads& threads = *static_cast<Threads*>(self);
  ++threads.calls;
  threads.last_count = count;
  std::vector<std::thread> running;
  for (uint32_t i = 0; i < count; ++i) {
    running.emplace_back([=] { body(context, i); });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
}

}  // namespace

TEST_CASE("execution covers the grid once for any number of threads, each with its own workspace") {
  for (const int32_t grid : {1, 2, 3, 7, 16, 31}) {
    for (uint32_t threads = 1; threads <= static_cast<uint32_t>(grid) && threads <= 8; ++threads) {
      for (const bool with_port : {false, true}) {
        const temper_plan plan = counting_plan(grid, threads, 64);
        std::vector<float> out(static_cast<size_t>(grid), 0.0f);
        void* tensors[TEMPER_TENSOR_COUNT] = {out.data(), nullptr, nullptr, nullptr, nullptr};
        Aligned workspace(threads * 64);
        std::memset(workspace.data.get(), 0, threads * 64);
        Threads used;
        temper_port port{};
        port.self = &used;
        port.parallel_for = parallel_for;
        REQUIRE(temper_execute(&plan, with_port ? &port : nullptr, tensors, workspace.data.get(), threads * 64) ==
                TEMPER_OK);
        for (const float visits : out) {
          REQUIRE(visits == 1.0f);
        }
        for (uint32_t i = 0; i < threads * 64; ++i) {
          REQUIRE(workspace.data.get()[i] == 1);
        }
        CHECK(used.calls == (with_port && threads > 1 ? 1u : 0u));
        CHECK((used.calls == 0 || used.last_count == threads));
      }
    }
  }
}

TEST_CASE("a port without threads runs the chunks in order") {
  const temper_plan plan = counting_plan(10, 3, 0);
  std::vector<float> out(10, 0.0f);
  void* tensors[TEMPER_TENSOR_COUNT] = {out.data(), nullptr, nullptr, nullptr, nullptr};
  const temper_port port{};
  REQUIRE(temper_execute(&plan, &port, tensors, nullptr, 0) == TEMPER_OK);
  CHECK(out == std::vector<float>(10, 1.0f));
}

TEST_CASE("execution refuses what breaks its contract and runs nothing") {
  temper_plan plan = counting_plan(4, 2, 64);
  std::vector<float> out(4, 0.0f);
  void* tensors[TEMPER_TENSOR_COUNT] = {out.data(), nullptr, nullptr, nullptr, nullptr};
  Aligned workspace(256);
  unsigned char* memory = workspace.data.get();
  CHECK(temper_execute(nullptr, nullptr, tensors, memory, 128) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_execute(&plan, nullptr, nullptr, memory, 128) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_execute(&plan, nullptr, tensors, nullptr, 128) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_execute(&plan, nullptr, tensors, memory + 16, 128) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_execute(&plan, nullptr, tensors, memory, 127) == TEMPER_NO_MEMORY);
  plan.packed_tensor = TEMPER_IN_B;
  plan.packed_bytes = 64;
  CHECK(temper_execute(&plan, nullptr, tensors, memory, 128) == TEMPER_INVALID_ARGUMENT);
  tensors[TEMPER_IN_B] = memory;
  CHECK(temper_execute(&plan, nullptr, tensors, memory, 128) == TEMPER_OK);
  out.assign(4, 0.0f);
  plan.kernel = nullptr;
  CHECK(temper_execute(&plan, nullptr, tensors, memory, 128) == TEMPER_INVALID_ARGUMENT);
  plan = counting_plan(4, 0, 0);
  CHECK(temper_execute(&plan, nullptr, tensors, nullptr, 0) == TEMPER_INVALID_ARGUMENT);
  tensors[TEMPER_OUT] = nullptr;
  plan = counting_plan(4, 1, 0);
  CHECK(temper_execute(&plan, nullptr, tensors, nullptr, 0) == TEMPER_INVALID_ARGUMENT);
  CHECK(out == std::vector<float>(4, 0.0f));
}

TEST_CASE("constants are packed as [group][n / block][k0][k1][k2][n % block], zero-padded to whole blocks") {
  temper::Random random(41);
  for (int round = 0; round < 300; ++round) {
    const auto count = [&](uint32_t most) { return static_cast<int32_t>(1 + random.below(most)); };
    const int32_t groups = count(3), n = count(13), block = count(6), k0 = count(4), k1 = count(3), k2 = count(3);
    // Dense strides in one of two orders: n innermost, or n outermost within a group.
    const bool n_inside = random.below(2) == 0;
    const int32_t s2 = n_inside ? n : 1, s1 = s2 * k2, s0 = s1 * k1;
    const int32_t sn = n_inside ? 1 : k0 * k1 * k2, sg = n * k0 * k1 * k2;
    std::vector<float> constant(static_cast<size_t>(groups) * static_cast<size_t>(sg));
    for (size_t i = 0; i < constant.size(); ++i) {
      constant[i] = static_cast<float>(i + 1);
    }
    const int32_t blocks = (n + block - 1) / block;
    const size_t elements = static_cast<size_t>(groups * blocks * block * k0 * k1 * k2);
    temper_plan plan{};
    plan.packed_tensor = TEMPER_IN_B;
    plan.packed_bytes = static_cast<uint32_t>(elements * sizeof(float));
    const int32_t layout[11] = {groups, sg, n, sn, block, k0, s0, k1, s1, k2, s2};
    std::memcpy(plan.pack_layout, layout, sizeof layout);
    Aligned packed(plan.packed_bytes + 64);
    std::memset(packed.data.get(), 0xAB, plan.packed_bytes + 64);
    REQUIRE(temper_pack_constant(&plan, constant.data(), packed.data.get(), plan.packed_bytes) == TEMPER_OK);
    const float* at = reinterpret_cast<const float*>(packed.data.get());
    for (int32_t position = 0; position < static_cast<int32_t>(elements); ++position) {
      int32_t rest = position;
      const auto digit = [&rest](int32_t base) {
        const int32_t value = rest % base;
        rest /= base;
        return value;
      };
      const int32_t i = digit(block), i2 = digit(k2), i1 = digit(k1), i0 = digit(k0), nb = digit(blocks), g = rest;
      const int32_t column = nb * block + i;
      const int32_t from = g * sg + column * sn + i0 * s0 + i1 * s1 + i2 * s2;
      REQUIRE(at[position] == (column < n ? constant[static_cast<size_t>(from)] : 0.0f));
    }
    for (uint32_t i = plan.packed_bytes; i < plan.packed_bytes + 64; ++i) {
      REQUIRE(packed.data.get()[i] == 0xAB);
    }
  }
}

TEST_CASE("packing refuses a buffer that is too small or not aligned, and has nothing to do where nothing is packed") {
  temper_plan plan{};
  plan.packed_tensor = TEMPER_TENSOR_COUNT;
  CHECK(temper_pack_constant(&plan, nullptr, nullptr, 0) == TEMPER_OK);
  plan.packed_tensor = TEMPER_IN_B;
  plan.packed_bytes = 16;
  const int32_t layout[11] = {1, 4, 4, 1, 4, 1, 1, 1, 1, 1, 1};
  std::memcpy(plan.pack_layout, layout, sizeof layout);
  const float constant[4] = {1, 2, 3, 4};
  Aligned packed(128);
  unsigned char* memory = packed.data.get();
  CHECK(temper_pack_constant(nullptr, constant, memory, 16) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_pack_constant(&plan, nullptr, memory, 16) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_pack_constant(&plan, constant, nullptr, 16) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_pack_constant(&plan, constant, memory + 4, 16) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_pack_constant(&plan, constant, memory, 15) == TEMPER_NO_MEMORY);
  CHECK(temper_pack_constant(&plan, constant, memory, 16) == TEMPER_OK);
}
