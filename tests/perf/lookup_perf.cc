// Look-ups among 1,024 winners set beside a binary search over a plain array, by key and by name, in turns in one run.
// lookup_perf [ENTRIES]: prints nanoseconds a look-up and the ratios; the aim is at most 2. Exits with 1 above it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "schedules/table_writer.h"
#include "temper/winners.h"

namespace temper {
namespace {

constexpr uint32_t kRounds = 101;
constexpr uint32_t kLookups = 20000;
constexpr double kAim = 2.0;

void kernel(float*, const float*, const float*, const float*, const float*, void*, const int32_t*, int32_t, int32_t) {}
constexpr temper_kernel kKernels[] = {kernel};

std::vector<TableEntry> entries(uint32_t count) {
  std::mt19937_64 random(1);
  std::vector<TableEntry> made(count);
  for (uint32_t i = 0; i < count; ++i) {
    BakedEntry baked;
    baked.elements[TEMPER_OUT] = 64;
    baked.winner.plan.grid = 1;
    baked.winner.plan.threads = 1;
    baked.winner.plan.packed_tensor = TEMPER_TENSOR_COUNT;
    baked.fallback = baked.winner;
    made[i] = {random(), 1, 1, 10, 9, {{0, 1}}, "block_" + std::to_string(i / 3) + "/conv_" + std::to_string(i % 3)};
    made[i].baked = baked;
  }
  return made;
}

/// The same keys and names as a program would keep them itself.
struct Plain {
  std::vector<uint64_t> keys;
  std::vector<const char*> names;

  uint32_t find(uint64_t key) const {
    return static_cast<uint32_t>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin());
  }
  uint32_t find_name(const char* name) const {
    const auto before = [](const char* a, const char* b) { return std::strcmp(a, b) < 0; };
    return static_cast<uint32_t>(std::lower_bound(names.begin(), names.end(), name, before) - names.begin());
  }
};

/// Nanoseconds a look-up; `sum` keeps them from being left out.
template <class Find>
double time_of(Find find, uint64_t* sum) {
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < kLookups; ++i) {
    *sum += find(i);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / kLookups;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Rounds of one after the other; the ratio is the median of the rounds' ratios.
template <class Ours, class Theirs>
bool compare_times(const char* what, Ours ours, Theirs theirs, uint64_t* sum) {
  std::vector<double> ours_ns, theirs_ns, ratios;
  for (uint32_t round = 0; round < kRounds; ++round) {
    theirs_ns.push_back(time_of(theirs, sum));
    ours_ns.push_back(time_of(ours, sum));
    ratios.push_back(ours_ns.back() / theirs_ns.back());
  }
  const double ratio = median(ratios);
  std::printf("%-8s winners %6.1f ns, plain array %6.1f ns, ratio %.2f of at most %.1f\n", what, median(ours_ns),
              median(theirs_ns), ratio, kAim);
  return ratio <= kAim;
}

int run(uint32_t count) {
  const Result<std::vector<uint8_t>> table = write_table(entries(count), Fingerprint(), "host");
  const temper_winners winners = {
      {table.ok() ? table->data() : nullptr, table.ok() ? table->size() : 0}, kKernels, 1, nullptr, 0};
  temper_winners_view view;
  const char* reason = "";
  if (temper_winners_open(&view, &winners, nullptr, &reason) != TEMPER_OK) {
    std::fprintf(stderr, "lookup_perf: %s\n", reason);
    return 1;
  }
  Plain plain;
  for (uint32_t i = 0; i < view.count; ++i) {
    plain.keys.push_back(view.keys[i]);
    plain.names.push_back(temper_winners_name(&view, view.by_name[i]));
  }
  std::mt19937 random(2);
  std::vector<uint64_t> keys;
  std::vector<std::string> names;
  for (uint32_t i = 0; i < kLookups; ++i) {
    keys.push_back(plain.keys[random() % count]);
    names.emplace_back(plain.names[random() % count]);
  }
  uint64_t sum = 0;
  const auto ours = [&](uint32_t i) {
    uint32_t index = 0;
    temper_winners_find(&view, keys[i], &index);
    return index;
  };
  const auto ours_by_name = [&](uint32_t i) {
    uint32_t index = 0;
    temper_winners_find_name(&view, names[i].c_str(), &index);
    return index;
  };
  bool within = compare_times(
      "by key", ours, [&](uint32_t i) { return plain.find(keys[i]); }, &sum);
  within &= compare_times(
      "by name", ours_by_name, [&](uint32_t i) { return plain.find_name(names[i].c_str()); }, &sum);
  std::printf("%u entries, table of %zu bytes, check %llu\n", count, table->size(),
              static_cast<unsigned long long>(sum));
  return within ? 0 : 1;
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 1024;
  if (count < 1 || count > 1000000) {
    std::fputs("usage: lookup_perf [ENTRIES]\n", stderr);
    return 2;
  }
  return temper::run(static_cast<uint32_t>(count));
}
