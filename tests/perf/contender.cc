#include "tests/perf/contender.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace temper::perf {

namespace {

double now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// One thread is timed by the time that it had a core: what else runs on the machine then costs caches, not time slices.
double time_once(const Contender& contender, int number, int threads) {
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  const double begin = now_ns(clock);
  for (int i = 0; i < number; i++) {
    contender.run();
  }
  return (now_ns(clock) - begin) / number;
}

}  // namespace

WorkloadData::WorkloadData(const Workload& workload) {
  const auto elements = tensor_elements(workload);
  uint32_t state = 1;
  for (int t = 0; t < TEMPER_TENSOR_COUNT; t++) {
    tensor[t].resize(elements[t]);
    for (float& value : tensor[t]) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<float>(static_cast<int>(state >> 28) - 8) / 8.0f;
    }
  }
}

std::vector<double> time_interleaved(const std::vector<Contender>& contenders, int threads, double seconds, int rounds,
                                     double min_sample_ns) {
  std::vector<std::vector<double>> samples(contenders.size());
  std::vector<int> number(contenders.size());
  for (size_t i = 0; i < contenders.size(); i++) {
    contenders[i].run();
    const double estimate = time_once(contenders[i], 1, threads);
    number[i] = std::max(1, static_cast<int>(std::ceil(min_sample_ns / std::max(estimate, 1.0))));
  }
  // Idle threads of the libraries' pools go on spinning for tens of milliseconds and would take the cores from whoever
  // comes next.
  const auto settle = [&](const Contender& contender) {
    if (threads > 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
      contender.run();
    }
  };
  const double deadline = now_ns(CLOCK_MONOTONIC) + seconds * 1e9;
  for (int round = 0; round < rounds && (round < 3 || now_ns(CLOCK_MONOTONIC) < deadline); round++) {
    for (size_t k = 0; k < contenders.size(); k++) {
      const size_t i = (k + static_cast<size_t>(round)) % contenders.size();
      settle(contenders[i]);
      samples[i].push_back(time_once(contenders[i], number[i], threads));
    }
  }
  std::vector<double> medians;
  for (auto& s : samples) {
    std::sort(s.begin(), s.end());
    medians.push_back(s[s.size() / 2]);
  }
  return medians;
}

Contender naive(const Workload& workload, const WorkloadData& data) {
  auto out = std::make_shared<Tensor>(data.tensor[TEMPER_OUT].size());
  const float* a = data.tensor[TEMPER_IN_A].data();
  const float* b = data.tensor[TEMPER_IN_B].data();
  Contender contender{"naive", nullptr, out, out.get()};
  if (workload.op == Operator::kMatmul) {
    const MatmulShape s = workload.matmul;
    contender.run = [s, a, b, out] {
      for (int g = 0; g < s.batch; g++) {
        const float* ga = a + (s.a_shared ? 0 : static_cast<size_t>(g) * s.m * s.k);
        const float* gb = b + (s.b_shared ? 0 : static_cast<size_t>(g) * s.k * s.n);
        for (int m = 0; m < s.m; m++) {
          for (int n = 0; n < s.n; n++) {
            float sum = 0.0f;
            for (int k = 0; k < s.k; k++) {
              const float x =
                  s.transpose_a ? ga[static_cast<size_t>(k) * s.m + m] : ga[static_cast<size_t>(m) * s.k + k];
              const float y =
                  s.transpose_b ? gb[static_cast<size_t>(n) * s.k + k] : gb[static_cast<size_t>(k) * s.n + n];
              sum += x * y;
            }
            (*out)[(static_cast<size_t>(g) * s.m + m) * s.n + n] = sum;
          }
        }
      }
    };
    return contender;
  }
  const Conv2dShape s = workload.conv;
  contender.run = [s, a, b, out] {
    const int oh = s.out_height(), ow = s.out_width(), icg = s.channels / s.groups, ocg = s.out_channels / s.groups;
    const bool last = s.layout == Layout::kNhwc;
    const size_t channel = last ? 1 : static_cast<size_t>(s.height) * s.width, pixel = last ? s.channels : 1;
    const size_t out_channel = last ? 1 : static_cast<size_t>(oh) * ow, out_pixel = last ? s.out_channels : 1;
    for (int n = 0; n < s.batch; n++) {
      for (int y = 0; y < oh; y++) {
        for (int x = 0; x < ow; x++) {
          for (int o = 0; o < s.out_channels; o++) {
            float sum = 0.0f;
            const int group = o / ocg;
            for (int c = 0; c < icg; c++) {
              for (int kh = 0; kh < s.kernel_h; kh++) {
                for (int kw = 0; kw < s.kernel_w; kw++) {
                  const int iy = y * s.stride_h - s.pad_top + kh * s.dilation_h;
                  const int ix = x * s.stride_w - s.pad_left + kw * s.dilation_w;
                  if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) {
                    continue;
                  }
                  sum += a[(static_cast<size_t>(n) * s.channels) * s.height * s.width + (group * icg + c) * channel +
                           (static_cast<size_t>(iy) * s.width + ix) * pixel] *
                         b[((static_cast<size_t>(o) * icg + c) * s.kernel_h + kh) * s.kernel_w + kw];
                }
              }
            }
            (*out)[(static_cast<size_t>(n) * s.out_channels) * oh * ow + o * out_channel +
                   (static_cast<size_t>(y) * ow + x) * out_pixel] = sum;
          }
        }
      }
    }
  };
  return contender;
}

}  // namespace temper::perf
