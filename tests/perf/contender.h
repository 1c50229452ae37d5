// One way to compute a workload, ready to be timed: ours by some config, or a library's. Used by the benchmarks alone.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedules/workload.h"

namespace temper::perf {

/// Cache lines, as networks and runners place their tensors.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  T* allocate(size_t count) { return static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64 + 64)); }
  void deallocate(T* memory, size_t) { std::free(memory); }
  bool operator==(const AlignedAllocator&) const = default;
};
using Tensor = std::vector<float, AlignedAllocator<float>>;

/// Tensors of one workload, shared by all contenders; filled with small values.
struct WorkloadData {
  explicit WorkloadData(const Workload& workload);
  Tensor tensor[TEMPER_TENSOR_COUNT];
};

struct Contender {
  std::string name;
  std::function<void()> run;         ///< one execution; whatever can be prepared beforehand was
  std::shared_ptr<void> keep_alive;  ///< what run needs
  Tensor* out = nullptr;             ///< where its result is, in the workload's layout, for a sanity check
};

/// OpenBLAS sgemm; nothing is packed beforehand. Empty name: it cannot express the workload.
Contender open_blas(const Workload& workload, const WorkloadData& data, int threads);
/// oneDNN with weights packed beforehand: convolution, and matmul or inner product where they apply; one contender
/// each.
std::vector<Contender> one_dnn(const Workload& workload, const WorkloadData& data, int threads);
/// Plain untiled loops in the workload's layout, compiled with -O2.
Contender naive(const Workload& workload, const WorkloadData& data);

/// Median time of each contender in ns, measured in turn, round after round, until `seconds` are spent or `rounds` are
/// done. Each sample repeats the contender for at least min_sample_ns.
std::vector<double> time_interleaved(const std::vector<Contender>& contenders, int threads, double seconds, int rounds,
                                     double min_sample_ns);

}  // namespace temper::perf
