// Prints what the storage holds, for a host to take from the console: "temper-history-begin BYTES", Intel HEX records,
// "temper-history-end". Called by main; reads through the port and changes nothing.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_HISTORY_DUMP_H
#define TEMPER_TOOLCHAINS_FIRMWARE_HISTORY_DUMP_H

#include "temper/port.h"

/// Up to the last byte that is not erased, or the end of the file. A port without storage prints nothing. Statuses of
/// the storage's read.
temper_status dump_history(const temper_storage* storage);

#endif
