#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <new>

#include "runtime/port/linux_cpu.h"
#include "temper/port_linux.h"

namespace {

constexpr uint32_t kMaxThreads = 1024;
// About 50 us of pauses: calls of a network follow each other faster than a sleeping thread wakes up, and an idle pool
// must not burn a core. Where there are fewer CPUs than threads, spinning only delays the thread that is waited for.
constexpr uint32_t kSpins = 1000;

using Word = std::atomic<uint32_t>;
static_assert(sizeof(Word) == 4 && Word::is_always_lock_free, "the kernel waits on the atomic itself");

void futex_wait(Word* word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(Word* word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

// A word that one thread waits for and others change. Each on a cache line of its own.
struct alignas(64) Signal {
  Word value{0};
  Word sleeping{0};

  // Returns the value once done(value) holds; what was written before it changed is visible then.
  template <class Done>
  uint32_t wait(uint32_t spins, Done done) {
    for (uint32_t i = 0; i < spins; ++i) {
      const uint32_t now = value.load(std::memory_order_acquire);
      if (done(now)) {
        return now;
      }
      temper::spin_pause();
    }
    for (;;) {
      // Sequentially consistent on both sides: either the changer sees the sleeper, or the sleeper sees the change.
      sleeping.store(1);
      const uint32_t now = value.load();
      if (done(now)) {
        sleeping.store(0, std::memory_order_relaxed);
        return now;
      }
      futex_wait(&value, now);
    }
  }
  void wake() {
    if (sleeping.load() != 0) {
      futex_wake(&value);
    }
  }
};

struct Worker {
  Signal round;  // raised by the caller for each piece of work
  pthread_t thread;
  uint32_t index;
  temper_linux_threads* pool;
};

}  // namespace

struct temper_linux_threads {
  Signal pending;  // workers that have not finished
  Word busy{0};    // a word: RISC-V's GCC takes exchanges of bytes from a library
  bool stopping = false;
  uint32_t spins = 0;
  uint32_t count = 0, stride = 0;  // of the work in flight
  void (*body)(void* context, uint32_t index) = nullptr;
  void* context = nullptr;
  uint32_t worker_count = 0;
  Worker* workers = nullptr;

  void run(uint32_t first) const {
    for (uint32_t i = first; i < count; i += stride) {
      body(context, i);
    }
  }
  void start(Worker* worker) {
    worker->round.value.fetch_add(1);
    worker->round.wake();
  }
};

namespace {

// malloc's family, not new: a program in C links this library without the C++ standard library.
template <class T>
T* make_array(size_t count) {
  void* const memory = aligned_alloc(alignof(T), count * sizeof(T) + (count == 0 ? alignof(T) : 0));
  for (size_t i = 0; memory != nullptr && i < count; ++i) {
    new (static_cast<T*>(memory) + i) T;
  }
  return static_cast<T*>(memory);
}

void* work(void* self) {
  Worker* const worker = static_cast<Worker*>(self);
  temper_linux_threads* const pool = worker->pool;
  uint32_t seen = 0;
  for (;;) {
    seen = worker->round.wait(pool->spins, [seen](uint32_t now) { return now != seen; });
    if (pool->stopping) {
      return nullptr;
    }
    pool->run(worker->index);
    if (pool->pending.value.fetch_sub(1) == 1) {
      pool->pending.wake();
    }
  }
}

}  // namespace

temper_status temper_linux_threads_create(uint32_t threads, temper_linux_threads** out) {
  if (out == nullptr || threads == 0 || threads > kMaxThreads) {
    return TEMPER_INVALID_ARGUMENT;
  }
  *out = nullptr;
  auto* pool = make_array<temper_linux_threads>(1);
  if (pool == nullptr) {
    return TEMPER_NO_MEMORY;
  }
  pool->spins = temper_linux_cpu_count() >= threads ? kSpins : 0;
  pool->workers = make_array<Worker>(threads - 1);
  for (uint32_t i = 0; pool->workers != nullptr && i + 1 < threads; ++i) {
    Worker* const worker = &pool->workers[i];
    worker->index = i + 1;
    worker->pool = pool;
    if (pthread_create(&worker->thread, nullptr, work, worker) != 0) {
      break;
    }
    ++pool->worker_count;
  }
  if (pool->worker_count + 1 < threads || pool->workers == nullptr) {
    temper_linux_threads_destroy(pool);
    return TEMPER_NO_MEMORY;
  }
  *out = pool;
  return TEMPER_OK;
}

void temper_linux_parallel_for(void* self, uint32_t count, void (*body)(void* context, uint32_t index), void* context) {
  auto* pool = static_cast<temper_linux_threads*>(self);
  const uint32_t wanted = count < pool->worker_count + 1 ? count : pool->worker_count + 1;
  if (wanted <= 1 || pool->busy.exchange(1, std::memory_order_acquire) != 0) {
    for (uint32_t i = 0; i < count; ++i) {
      body(context, i);
    }
    return;
  }
  pool->body = body;
  pool->context = context;
  pool->count = count;
  pool->stride = wanted;
  pool->pending.value.store(wanted - 1, std::memory_order_relaxed);
  for (uint32_t i = 0; i + 1 < wanted; ++i) {
    pool->start(&pool->workers[i]);
  }
  pool->run(0);
  pool->pending.wait(pool->spins, [](uint32_t now) { return now == 0; });
  pool->busy.store(0, std::memory_order_release);
}

void temper_linux_threads_destroy(temper_linux_threads* threads) {
  if (threads == nullptr) {
    return;
  }
  threads->stopping = true;
  for (uint32_t i = 0; i < threads->worker_count; ++i) {
    threads->start(&threads->workers[i]);
    pthread_join(threads->workers[i].thread, nullptr);
  }
  free(threads->workers);
  free(threads);
}
