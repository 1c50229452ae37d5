#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "temper/port_linux.h"

namespace {

class Threads {
 public:
  explicit Threads(uint32_t count) { REQUIRE(temper_linux_threads_create(count, &threads_) == TEMPER_OK); }
  ~Threads() { temper_linux_threads_destroy(threads_); }
  Threads(const Threads&) = delete;
  temper_linux_threads* get() const { return threads_; }
  template <class Body>
  void run(uint32_t count, Body& body) const {
    temper_linux_parallel_for(
        threads_, count, [](void* context, uint32_t index) { (*static_cast<Body*>(context))(index); }, &body);
  }

 private:
  temper_linux_threads* threads_ = nullptr;
};

TEST_CASE("every index runs once, whatever the number of threads and of indices") {
  for (const uint32_t thread_count : {1u, 2u, 3u, 7u}) {
    const Threads threads(thread_count);
    for (const uint32_t count : {0u, 1u, 2u, 3u, 8u, 50u}) {
      std::vector<int> runs(count, 0);  // plain: each index has one writer, and returning means that all are done
      auto body = [&](uint32_t index) { ++runs[index]; };
      threads.run(count, body);
      CHECK(runs == std::vector<int>(count, 1));
    }
  }
}

TEST_CASE("the calling thread takes index 0, and as many threads as asked for take part") {
  const Threads threads(3);
  std::vector<std::thread::id> who(3);
  auto body = [&](uint32_t index) { who[index] = std::this_thread::get_id(); };
  threads.run(3, body);
  CHECK(who[0] == std::this_thread::get_id());
  CHECK(who[1] != who[0]);
  CHECK(who[2] != who[0]);
  CHECK(who[2] != who[1]);
}

TEST_CASE("many rounds in a row see each other's writes") {
  const Threads threads(2);
  std::vector<uint64_t> sum(2, 0);
  uint64_t expected = 0;
  for (uint32_t round = 0; round < 20000; ++round) {
    // Each thread writes what the other wrote in the round before.
    auto swap_roles = [&](uint32_t index) { sum[(index + round) % 2] += round; };
    threads.run(2, swap_roles);
    expected += round;
  }
  CHECK(sum[0] == expected);
  CHECK(sum[1] == expected);
}

TEST_CASE("sleeping threads wake up for a round after a pause") {
  const Threads threads(4);
  std::atomic<uint32_t> runs{0};
  auto body = [&](uint32_t) { ++runs; };
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    threads.run(4, body);
  }
  CHECK(runs == 20);
}

TEST_CASE("a round inside a round, or from another thread meanwhile, runs on its own thread and completes") {
  const Threads threads(2);
  std::atomic<uint32_t> runs{0};
  auto inner = [&](uint32_t) { ++runs; };
  auto outer = [&](uint32_t) { threads.run(5, inner); };
  threads.run(2, outer);
  CHECK(runs == 10);
  runs = 0;
  std::thread other([&] {
    for (int round = 0; round < 2000; ++round) {
      threads.run(3, inner);
    }
  });
  for (int round = 0; round < 2000; ++round) {
    threads.run(3, inner);
  }
  other.join();
  CHECK(runs == 12000);
}

TEST_CASE("threads come and go cleanly, used or not") {
  for (int round = 0; round < 50; ++round) {
    const Threads unused(4);
    const Threads used(3);
    std::atomic<uint32_t> runs{0};
    auto body = [&](uint32_t) { ++runs; };
    used.run(3, body);
    CHECK(runs == 3);
  }
  temper_linux_threads_destroy(nullptr);
}

TEST_CASE("impossible numbers of threads are refused") {
  temper_linux_threads* threads = nullptr;
  CHECK(temper_linux_threads_create(0, &threads) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_linux_threads_create(1025, &threads) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_linux_threads_create(1, nullptr) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("a port offers what it was given") {
  const temper_port alone = temper_linux_port(nullptr, nullptr);
  CHECK((alone.parallel_for == nullptr));
  CHECK(alone.storage == nullptr);
  const uint64_t before = alone.now_ns(alone.self);
  CHECK(alone.now_ns(alone.self) >= before);
  const Threads threads(2);
  const temper_port port = temper_linux_port(threads.get(), nullptr);
  std::atomic<uint32_t> runs{0};
  port.parallel_for(
      port.self, 9, [](void* context, uint32_t) { ++*static_cast<std::atomic<uint32_t>*>(context); }, &runs);
  CHECK(runs == 9);
}

}  // namespace
