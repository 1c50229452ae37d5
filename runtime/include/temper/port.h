// What a board or an operating system supplies: clock, storage, log, threads. Tables of callbacks, owned by the caller,
// which must outlive the runtime. Every callback gets the `self` of its table. None is called from an interrupt.
#ifndef TEMPER_PORT_H
#define TEMPER_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "temper/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Storage of a history. Raw flash: program_bytes and erase_bytes as the part demands, erased bytes read 0xFF.
/// A file: program_bytes 1, erase_bytes 0 (append-only; never erased; reading past the end yields TEMPER_NOT_FOUND).
typedef struct temper_storage {
  void* self;
  uint32_t size_bytes;     ///< capacity
  uint32_t program_bytes;  ///< power of two, 1..256; every program call is aligned to it and a multiple of it
  uint32_t erase_bytes;    ///< 0, or a power of two that divides size_bytes
  temper_status (*read)(void* self, uint32_t offset, void* to, uint32_t bytes);
  temper_status (*program)(void* self, uint32_t offset, const void* from, uint32_t bytes);
  temper_status (*erase)(void* self, uint32_t offset);  ///< erases the block at `offset`; NULL when erase_bytes is 0
  temper_status (*sync)(void* self);                    ///< all programmed bytes survive a power loss afterwards
} temper_storage;

typedef struct temper_port {
  void* self;
  /// Monotonic nanoseconds since any fixed moment. Never runs backwards.
  uint64_t (*now_ns)(void* self);
  /// Runs body(context, i) for i in [0, count), on up to `count` threads, and returns when all are done.
  /// NULL: the runtime calls body in order on this thread.
  void (*parallel_for)(void* self, uint32_t count, void (*body)(void* context, uint32_t index), void* context);
  /// One line of text without newline. May be NULL.
  void (*log)(void* self, const char* line);
  /// Feeds the watchdog; called at least once a step. May be NULL.
  void (*feed_watchdog)(void* self);
  /// Rings once, `after_ns` from now; 0: not at all any more. Set before a candidate runs, with more time than it may
  /// take. When it rings the call in progress will not return: the port resets the device (the next boot finds the open
  /// intent and quarantines the config) or ends the process. May be NULL: then the watchdog alone guards.
  void (*set_alarm)(void* self, uint64_t after_ns);
  const temper_storage* storage;  ///< NULL: history is kept in memory only
} temper_port;

#ifdef __cplusplus
}
#endif
#endif
