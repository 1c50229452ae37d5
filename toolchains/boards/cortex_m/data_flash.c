#include "toolchains/boards/cortex_m/data_flash.h"

enum { kSizeBytes = 128 * 1024, kProgramBytes = 8, kEraseBytes = 4096 };

// Kept inverted: memory is zero when the emulator starts, and that reads as erased.
static uint8_t cells[kSizeBytes] __attribute__((section(".retained")));

static temper_status flash_read(void* self, uint32_t offset, void* to, uint32_t bytes) {
  (void)self;
  if (offset > kSizeBytes || bytes > kSizeBytes - offset) {
    return TEMPER_INVALID_ARGUMENT;
  }
  for (uint32_t i = 0; i < bytes; ++i) {
    ((uint8_t*)to)[i] = (uint8_t)~cells[offset + i];
  }
  return TEMPER_OK;
}

static temper_status flash_program(void* self, uint32_t offset, const void* from, uint32_t bytes) {
  (void)self;
  if (offset > kSizeBytes || bytes > kSizeBytes - offset || offset % kProgramBytes != 0 || bytes % kProgramBytes != 0) {
    return TEMPER_INVALID_ARGUMENT;
  }
  for (uint32_t i = 0; i < bytes; ++i) {
    if (cells[offset + i] != 0) {
      return TEMPER_STORAGE_ERROR;  // not erased
    }
  }
  for (uint32_t i = 0; i < bytes; ++i) {
    cells[offset + i] = (uint8_t) ~((const uint8_t*)from)[i];
  }
  return TEMPER_OK;
}

static temper_status flash_erase(void* self, uint32_t offset) {
  (void)self;
  if (offset % kEraseBytes != 0 || offset >= kSizeBytes) {
    return TEMPER_INVALID_ARGUMENT;
  }
  for (uint32_t i = 0; i < kEraseBytes; ++i) {
    cells[offset + i] = 0;
  }
  return TEMPER_OK;
}

static temper_status flash_sync(void* self) {
  (void)self;
  return TEMPER_OK;
}

const temper_storage data_flash = {.size_bytes = kSizeBytes,
                                   .program_bytes = kProgramBytes,
                                   .erase_bytes = kEraseBytes,
                                   .read = flash_read,
                                   .program = flash_program,
                                   .erase = flash_erase,
                                   .sync = flash_sync};
