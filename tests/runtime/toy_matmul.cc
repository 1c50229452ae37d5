#include "tests/runtime/toy_matmul.h"

#include "runtime/check.h"

namespace temper::test {
namespace {

// Time per row block, by tile.
uint64_t cost_ns(int32_t tile) { return tile == 4 ? 20000 : tile == 2 ? 80000 : 100000; }

void right(float* out, const float* a, const float* b, const float*, const float*, void* workspace, const int32_t* args,
           int32_t begin, int32_t end) {
  const int32_t m = args[0], n = args[1], k = args[2], block = args[3 + kToyBlock];
  const bool packed = args[3 + kToyPacked] != 0;
  float* const row = static_cast<float*>(workspace);
  for (int32_t item = begin; item < end; ++item) {
    for (int32_t i = item * block; i < m && i < (item + 1) * block; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        row[j] = 0.0f;
        for (int32_t l = 0; l < k; ++l) {
          row[j] += a[i * k + l] * (packed ? b[(j / 4 * k + l) * 4 + j % 4] : b[l * n + j]);
        }
        out[i * n + j] = row[j];
      }
    }
  }
  ToyClock::now_ns += cost_ns(args[3 + kToyTile]) * static_cast<uint64_t>(end - begin);
  ++ToyClock::kernel_calls;
}

void wrong(float* out, const float* a, const float* b, const float* bias, const float* addend, void* workspace,
           const int32_t* args, int32_t begin, int32_t end) {
  right(out, a, b, bias, addend, workspace, args, begin, end);
  out[begin] += 1.0f;
  ToyClock::now_ns -= cost_ns(args[3 + kToyTile]) * static_cast<uint64_t>(end - begin) / 2;  // tempting
}

void outside(float* out, const float* a, const float* b, const float* bias, const float* addend, void* workspace,
             const int32_t* args, int32_t begin, int32_t end) {
  right(out, a, b, bias, addend, workspace, args, begin, end);
  out[-1] = 0.0f;
}

TestTemplate toy_template() {
  TestTemplate t;
  t.name = "toy";
  t.dim_count = 3;
  t.knobs = {{1, KnobKind::kCompile, {1, 2, 4}, "tile"},
             {2, KnobKind::kCompile, {0, 1}, "packed"},
             {3, KnobKind::kRun, {4, 6, 12}, "block"}};
  ProgramWriter w(&t, &t.shape);
  const auto zero = w.constant(0), one = w.constant(1);
  w.output(w.op(Op::kCeilDiv, w.dim(0), w.knob(kToyBlock)));
  w.output(w.constant(64));  // one row
  w.output(w.op(Op::kSelect, w.knob(kToyPacked), w.constant(TEMPER_IN_B), w.constant(TEMPER_TENSOR_COUNT)));
  const auto n = w.dim(1), k = w.dim(2);
  for (const auto value : {one, zero, n, one, w.constant(4), k, n, one, zero, one, zero}) {
    w.output(value);
  }
  fill_programs(&t);
  return t;
}

}  // namespace

const temper_kernel toy_kernels[kToyKernelCount] = {right, wrong, outside};

uint64_t ToyClock::now_ns = 0;
uint32_t ToyClock::kernel_calls = 0;

void ToyClock::reset() {
  now_ns = 0;
  kernel_calls = 0;
}

temper_port ToyClock::port(const temper_storage* storage) {
  temper_port port{};
  port.now_ns = [](void*) { return now_ns += 20; };
  port.storage = storage;
  return port;
}

void toy_reference(const float* a, const float* b, float* out) {
  for (int32_t i = 0; i < kToyM; ++i) {
    for (int32_t j = 0; j < kToyN; ++j) {
      float sum = 0.0f;
      for (int32_t l = 0; l < kToyK; ++l) {
        sum += a[i * kToyK + l] * b[l * kToyN + j];
      }
      out[i * kToyN + j] = sum;
    }
  }
}

TestPack toy_pack() {
  std::vector<float> a(kToyM * kToyK), b(kToyK * kToyN), out(kToyM * kToyN);
  fill_small_integers(TEMPER_IN_A, {a.data(), a.size()});
  fill_small_integers(TEMPER_IN_B, {b.data(), b.size()});
  toy_reference(a.data(), b.data(), out.data());

  TestPack pack;
  pack.templates = {toy_template()};
  TestWorkload workload;
  workload.key = kToyWorkloadKey;
  workload.name = "toy";
  workload.dims = {kToyM, kToyN, kToyK};
  workload.elements = {kToyM * kToyN, kToyM * kToyK, kToyK * kToyN, 0, 0};
  workload.constants = 1u << TEMPER_IN_B;
  workload.digest = digest({out.data(), out.size()});
  workload.default_values = {1, 0, 4};
  workload.flops = 2 * kToyM * kToyN * kToyK;
  pack.workloads = {workload};
  pack.variants = {{0, {1, 0}, kToyRight},
                   {0, {2, 0}, kToyRight},
                   {0, {4, 1}, kToyRight},
                   {0, {4, 0}, kToyWrong},
                   {0, {2, 1}, kToyOutside}};
  return pack;
}

}  // namespace temper::test
