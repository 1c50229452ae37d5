// Self-test of a port: what a board supplies is tried before anything relies on it. Called once by a first-boot program
// or by the bring-up of a new board. Never allocates, and never touches what a history may hold.
#ifndef TEMPER_PORT_CHECK_H
#define TEMPER_PORT_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "temper/port.h"
#include "temper/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Memory lent to the test, aligned to 4 bytes.
#define TEMPER_PORT_CHECK_BYTES 512
/// A clock with larger steps is refused: a sample lasts at least 200 us, so a quarter of one is lost in rounding.
#define TEMPER_COARSEST_CLOCK_NS 50000u

/// In place of the offset of an erase block that the test may erase and write.
#define TEMPER_PORT_FREE_BLOCK 0xFFFFFFFFu    ///< the last block that is erased; none: the storage is only read
#define TEMPER_PORT_READ_STORAGE 0xFFFFFFFEu  ///< the storage is only read; always so for a file

typedef struct temper_port_report {
  const char* reason;  ///< static text: what breaks the contract of port.h, and what to look at; "ok" when nothing does
  uint64_t clock_resolution_ns;  ///< smallest step seen; 0 when it was not measured
  uint32_t written_block;  ///< offset of the block that was written and erased; TEMPER_PORT_READ_STORAGE when none was
} temper_port_report;

/// Tries the clock (it moves, never runs backwards, is fine enough), the storage (sizes, erased bytes read 0xFF, keeps
/// what is written, a block is a block of its own) and the threads (each index once). Takes at most about a million
/// reads of the clock and one erase of a block. A block left half tested by a power failure is recognised and used
/// again. The alarm and the watchdog are not tried: they end the boot.
/// TEMPER_INVALID_ARGUMENT when port, memory or report is NULL; TEMPER_PORT_ERROR, TEMPER_STORAGE_ERROR with a reason.
temper_status temper_check_port(const temper_port* port, uint32_t block, void* memory, temper_port_report* report);

#ifdef __cplusplus
}
#endif
#endif
