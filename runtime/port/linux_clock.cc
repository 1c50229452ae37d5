#include <time.h>

#include "temper/port_linux.h"

uint64_t temper_linux_now_ns(void*) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

temper_port temper_linux_port(temper_linux_threads* threads, const temper_linux_file* file) {
  temper_port port = {};
  port.self = threads;
  port.now_ns = temper_linux_now_ns;
  port.parallel_for = threads != nullptr ? temper_linux_parallel_for : nullptr;
  port.storage = file != nullptr ? temper_linux_file_storage(file) : nullptr;
  return port;
}
