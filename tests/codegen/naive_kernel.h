// Kernels computed one element at a time straight from the dims of a template, and tensors between inaccessible pages.
// For the tests of codegen; knows nothing of how kernels are generated.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "schedules/templates.h"

namespace temper {

/// Floats whose end (or start) touches an inaccessible page, filled with a pattern that kernels must not keep.
class PagedTensor {
 public:
  enum class Edge { kEnd, kStart };
  PagedTensor(size_t count, Edge edge);
  ~PagedTensor();
  PagedTensor(const PagedTensor&) = delete;
  PagedTensor& operator=(const PagedTensor&) = delete;
  float* data() { return data_; }
  size_t size() const { return count_; }
  float& operator[](size_t index) { return data_[index]; }
  void fill_integers(std::mt19937& random);
  void poison();
  /// The slack on the other side of the tensor is as it was.
  bool slack_intact() const;

 private:
  uint8_t* base_;
  size_t bytes_, count_;
  float* data_;
};

/// The tensors of one kernel call.
struct KernelCase {
  std::vector<int32_t> dims, knobs;
  std::string text() const;
};

struct GemmSizes {
  size_t a, b, bias, out;
};
GemmSizes gemm_sizes(const std::vector<int32_t>& dims);
/// a, b as matrices of the template, before any packing.
std::vector<float> naive_gemm(const std::vector<int32_t>& dims, const float* a, const float* b, const float* bias,
                              const float* addend);
/// [g inner][tiles][K][tile] of the constant operand.
std::vector<float> packed_constant(const std::vector<int32_t>& dims, const float* operand, bool is_a, int32_t tile);
int32_t gemm_items(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs);
size_t gemm_workspace_floats(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs);

std::vector<float> naive_depthwise(const std::vector<int32_t>& dims, const float* image, const float* filter,
                                   const float* bias, const float* addend);
/// Whether the kernel of these knobs reads a packed filter.
bool packs_depthwise_filter(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs);
/// [ceil(C / block)][kh][kw][block].
std::vector<float> packed_depthwise_filter(const std::vector<int32_t>& dims, const float* filter, int32_t block);
int32_t depthwise_items(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs);

/// The host, and the host without what some other core lacks: 512-bit vectors, masked stores, vectors.
std::vector<Target> runnable_targets();

}  // namespace temper
