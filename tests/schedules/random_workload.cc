#include "tests/schedules/random_workload.h"

#include <algorithm>

#include "runtime/check.h"

namespace temper::test {
namespace {

int32_t between(Random& random, int32_t low, int32_t high) {
  return low + static_cast<int32_t>(random.below(static_cast<uint32_t>(high - low + 1)));
}
bool coin(Random& random) { return random.below(2) != 0; }

Epilogue random_epilogue(Random& random) {
  Epilogue epilogue;
  epilogue.bias = coin(random);
  epilogue.addend = coin(random);
  epilogue.activation = static_cast<Activation>(random.below(3));
  if (epilogue.activation == Activation::kClip) {
    epilogue.low = static_cast<float>(between(random, -20, 5));
    epilogue.high = epilogue.low + static_cast<float>(between(random, 0, 40));
  }
  return epilogue;
}

}  // namespace

Workload random_matmul(Random& random, int32_t limit) {
  Workload workload;
  MatmulShape& s = workload.matmul;
  s.batch = between(random, 1, 3);
  s.m = between(random, 1, limit);
  s.n = between(random, 1, limit);
  s.k = between(random, 1, limit);
  for (bool* flag : {&s.transpose_a, &s.transpose_b, &s.a_shared, &s.b_shared, &s.a_constant, &s.b_constant}) {
    *flag = coin(random);
  }
  workload.epilogue = random_epilogue(random);
  return *validated(workload);
}

Workload random_conv(Random& random, int32_t limit) {
  Workload workload;
  workload.op = Operator::kConv2d;
  Conv2dShape& s = workload.conv;
  s.batch = between(random, 1, 2);
  s.groups = random.below(3) == 0 ? between(random, 1, 4) : 1;
  s.channels = s.groups * between(random, 1, std::max(limit / s.groups, 1));
  s.out_channels = s.groups * between(random, 1, std::max(limit / s.groups, 1));
  if (random.below(4) == 0) {  // depthwise
    s.groups = s.out_channels = s.channels;
  }
  const bool pointwise = random.below(3) == 0;
  s.kernel_h = pointwise ? 1 : between(random, 1, 4);
  s.kernel_w = pointwise ? 1 : between(random, 1, 4);
  for (int32_t* size : {&s.stride_h, &s.stride_w, &s.dilation_h, &s.dilation_w}) {
    *size = pointwise && random.below(3) != 0 ? 1 : between(random, 1, 3);
  }
  for (int32_t* pad : {&s.pad_top, &s.pad_left, &s.pad_bottom, &s.pad_right}) {
    *pad = pointwise && random.below(3) != 0 ? 0 : between(random, 0, 3);
  }
  s.height = between(random, 1, limit) + std::max(s.dilation_h * (s.kernel_h - 1) - s.pad_top - s.pad_bottom, 0);
  s.width = between(random, 1, limit) + std::max(s.dilation_w * (s.kernel_w - 1) - s.pad_left - s.pad_right, 0);
  s.layout = static_cast<Layout>(random.below(2));
  s.filter_constant = coin(random);
  workload.epilogue = random_epilogue(random);
  return *validated(workload);
}

Workload random_workload(Random& random, int32_t limit) {
  return coin(random) ? random_matmul(random, limit) : random_conv(random, limit);
}

TestTensors::TestTensors(const Workload& workload) {
  const auto elements = tensor_elements(workload);
  for (uint32_t which = TEMPER_IN_A; which < TEMPER_TENSOR_COUNT; ++which) {
    data[which].resize(elements[which]);
    fill_small_integers(static_cast<temper_tensor>(which), {data[which].data(), data[which].size()});
    inputs[which] = elements[which] != 0 ? data[which].data() : nullptr;
  }
}

}  // namespace temper::test
