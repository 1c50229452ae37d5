#include <cblas.h>

#include "tests/perf/contender.h"

namespace temper::perf {

namespace {

bool is_pointwise(const Conv2dShape& s) {
  return s.kernel_h == 1 && s.kernel_w == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_top == 0 &&
         s.pad_left == 0 && s.groups == 1 && s.batch == 1;
}

}  // namespace

Contender open_blas(const Workload& workload, const WorkloadData& data, int threads) {
  auto out = std::make_shared<Tensor>(data.tensor[TEMPER_OUT].size());
  const float* a = data.tensor[TEMPER_IN_A].data();
  const float* b = data.tensor[TEMPER_IN_B].data();
  Contender contender{"OpenBLAS", nullptr, out, out.get()};
  if (workload.op == Operator::kMatmul) {
    const MatmulShape s = workload.matmul;
    contender.run = [=] {
      openblas_set_num_threads(threads);
      for (int g = 0; g < s.batch; g++) {
        cblas_sgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans, s.transpose_b ? CblasTrans : CblasNoTrans,
                    s.m, s.n, s.k, 1.0f, a + (s.a_shared ? 0 : static_cast<size_t>(g) * s.m * s.k),
                    s.transpose_a ? s.m : s.k, b + (s.b_shared ? 0 : static_cast<size_t>(g) * s.k * s.n),
                    s.transpose_b ? s.k : s.n, 0.0f, out->data() + static_cast<size_t>(g) * s.m * s.n, s.n);
      }
    };
    return contender;
  }
  const Conv2dShape s = workload.conv;
  if (!is_pointwise(s)) {
    return {};
  }
  const int pixels = s.height * s.width;
  if (s.layout == Layout::kNhwc) {  // [pixels, c] * [o, c]^T
    contender.run = [=] {
      openblas_set_num_threads(threads);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, pixels, s.out_channels, s.channels, 1.0f, a, s.channels, b,
                  s.channels, 0.0f, out->data(), s.out_channels);
    };
  } else {  // [o, c] * [c, pixels]
    contender.run = [=] {
      openblas_set_num_threads(threads);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s.out_channels, pixels, s.channels, 1.0f, b, s.channels, a,
                  pixels, 0.0f, out->data(), pixels);
    };
  }
  return contender;
}

}  // namespace temper::perf
