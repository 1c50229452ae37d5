// The board's data flash: emulated in memory that a reset leaves alone, with the rules of a real part: erased bytes
// read 0xFF, a page is programmed once between erasures, whole pages and blocks only. Used as temper's storage.
#ifndef TEMPER_TOOLCHAINS_BOARDS_CORTEX_M_DATA_FLASH_H
#define TEMPER_TOOLCHAINS_BOARDS_CORTEX_M_DATA_FLASH_H

#include "temper/port.h"

extern const temper_storage data_flash;

#endif
