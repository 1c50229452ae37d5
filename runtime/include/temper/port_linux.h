// The port of a Linux board or host: clock, history file, threads, and the probe of the machine's facts.
// Called by applications and by the temper command. Uses the heap when objects are made, never afterwards.
#ifndef TEMPER_PORT_LINUX_H
#define TEMPER_PORT_LINUX_H

#include "temper/kernel.h"
#include "temper/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/// CLOCK_MONOTONIC; `self` is ignored.
uint64_t temper_linux_now_ns(void* self);

/// A history file: append-only, never truncated.
typedef struct temper_linux_file temper_linux_file;
typedef enum temper_linux_access {
  TEMPER_LINUX_APPEND =
      0,             ///< created when absent (its folder must exist); locked against other appenders until closed
  TEMPER_LINUX_READ  ///< must exist; not locked; programming it is TEMPER_STORAGE_ERROR
} temper_linux_access;

/// `capacity_bytes`, at most 2^31, is how far the file may grow. errno tells more when the status is not TEMPER_OK:
/// TEMPER_BUSY: another process or object appends to it. A file that is deleted or replaced while it is held takes
/// nothing more (TEMPER_STORAGE_ERROR). TEMPER_NOT_FOUND: the file or its folder does not exist.
/// TEMPER_STORAGE_FULL, TEMPER_STORAGE_ERROR (no permission, read-only, no regular file, I/O error), TEMPER_NO_MEMORY,
/// TEMPER_INVALID_ARGUMENT.
temper_status temper_linux_file_open(const char* path, temper_linux_access access, uint32_t capacity_bytes,
                                     temper_linux_file** out);
/// Valid until the file is closed.
const temper_storage* temper_linux_file_storage(const temper_linux_file* file);
/// Releases the lock. NULL is allowed.
void temper_linux_file_close(temper_linux_file* file);

/// Threads that wait for work, spinning for some microseconds before they sleep.
typedef struct temper_linux_threads temper_linux_threads;
/// `threads` counts the calling thread: 1 starts none. TEMPER_INVALID_ARGUMENT for 0 or more than 1024;
/// TEMPER_NO_MEMORY when the system gives no more threads.
temper_status temper_linux_threads_create(uint32_t threads, temper_linux_threads** out);
/// temper_port's parallel_for; `self` is the temper_linux_threads. The calling thread takes index 0. A call made while
/// another is in flight, from the body or from another thread, runs on its own thread alone.
void temper_linux_parallel_for(void* self, uint32_t count, void (*body)(void* context, uint32_t index), void* context);
/// No call may be in flight. NULL is allowed.
void temper_linux_threads_destroy(temper_linux_threads* threads);

/// A port of these parts. NULL threads: one thread. NULL file: history in memory only. No log, no watchdog. Both must
/// outlive it.
temper_port temper_linux_port(temper_linux_threads* threads, const temper_linux_file* file);

/// A kernel pack loaded at run time: NAME_pack.so, as temper build makes it for Linux targets.
typedef struct temper_linux_pack temper_linux_pack;
/// *pack is valid until the handle is closed: until then contexts, plans and kernels made from it may be used.
/// TEMPER_NOT_FOUND: no such file. TEMPER_UNSUPPORTED: made for another processor. TEMPER_BAD_DATA, TEMPER_BAD_VERSION:
/// not a pack, cut short, or it does not verify. TEMPER_STORAGE_ERROR: it cannot be read. TEMPER_INVALID_ARGUMENT.
/// Opening executes what the file holds: open packs that you trust.
temper_status temper_linux_pack_open(const char* path, const temper_pack** pack, temper_linux_pack** handle);
/// NULL is allowed.
void temper_linux_pack_close(temper_linux_pack* handle);

/// Fills every fact; where the system does not tell, a cautious guess. Takes some 20 ms: the copy rate is measured.
temper_status temper_linux_probe(temper_facts* facts);
/// CPUs that this process may run on, at least 1.
uint32_t temper_linux_cpu_count(void);
/// Name of the processor, terminated, cut to `capacity`; "unknown" when the system does not tell.
void temper_linux_cpu_name(char* text, size_t capacity);
/// For the fingerprint: the same on processors of the same vendor, family and model. Never 0.
uint32_t temper_linux_core_type(void);

#ifdef __cplusplus
}
#endif
#endif
