#include "toolchains/firmware/history_dump.h"

#include <stdbool.h>

#include "toolchains/boards/board.h"
#include "toolchains/firmware/console.h"

enum { kBytesPerRecord = 32, kRecordHeaderBytes = 4 };
enum { kData = 0x00, kEndOfFile = 0x01, kExtendedAddress = 0x04 };

// One record: colon, then count, address, type, data and the byte that makes the sum 0, in hexadecimal.
static void print_record(uint8_t type, uint32_t address, const uint8_t* data, uint32_t bytes) {
  static const char kDigits[] = "0123456789ABCDEF";
  const uint8_t head[kRecordHeaderBytes] = {(uint8_t)bytes, (uint8_t)(address >> 8), (uint8_t)address, type};
  char text[1 + 2 * (kRecordHeaderBytes + kBytesPerRecord + 1) + 2];
  char* at = text;
  uint8_t sum = 0;
  *at++ = ':';
  for (uint32_t i = 0; i <= kRecordHeaderBytes + bytes; ++i) {
    const uint8_t byte = i < kRecordHeaderBytes           ? head[i]
                         : i < kRecordHeaderBytes + bytes ? data[i - kRecordHeaderBytes]
                                                          : (uint8_t)-sum;
    sum = (uint8_t)(sum + byte);
    *at++ = kDigits[byte >> 4];
    *at++ = kDigits[byte & 15];
  }
  *at++ = '\n';
  *at = 0;
  board_print(text);
}

static bool is_erased(const uint8_t* data, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) {
    if (data[i] != 0xFF) {
      return false;
    }
  }
  return true;
}

// A file ends where reading does; raw flash behind its last byte that is not erased.
static temper_status find_end(const temper_storage* storage, uint32_t* end) {
  uint8_t data[kBytesPerRecord];
  *end = 0;
  for (uint32_t at = 0; at < storage->size_bytes;) {
    const uint32_t left = storage->size_bytes - at;
    uint32_t bytes = left < kBytesPerRecord ? left : kBytesPerRecord;
    temper_status status = storage->read(storage->self, at, data, bytes);
    if (status == TEMPER_NOT_FOUND && storage->erase_bytes == 0) {
      for (; status == TEMPER_NOT_FOUND && bytes > 0; status = storage->read(storage->self, at, data, bytes)) {
        --bytes;  // the last record of a file is as long as can be read
      }
      *end = at + bytes;
      return TEMPER_OK;
    }
    if (status != TEMPER_OK) {
      return status;
    }
    at += bytes;
    *end = storage->erase_bytes == 0 || !is_erased(data, bytes) ? at : *end;
  }
  return TEMPER_OK;
}

temper_status dump_history(const temper_storage* storage) {
  if (storage == NULL) {
    return TEMPER_OK;
  }
  uint32_t end = 0;
  temper_status status = find_end(storage, &end);
  if (status != TEMPER_OK) {
    return status;
  }
  say("temper-history-begin ", end, "\n");
  uint8_t data[kBytesPerRecord];
  for (uint32_t at = 0; at < end && status == TEMPER_OK; at += kBytesPerRecord) {
    if (at % 0x10000 == 0 && at > 0) {
      const uint8_t upper[2] = {(uint8_t)(at >> 24), (uint8_t)(at >> 16)};
      print_record(kExtendedAddress, 0, upper, sizeof upper);
    }
    const uint32_t bytes = end - at < kBytesPerRecord ? end - at : kBytesPerRecord;
    status = storage->read(storage->self, at, data, bytes);
    if (status == TEMPER_OK) {
      print_record(kData, at & 0xFFFF, data, bytes);
    }
  }
  print_record(kEndOfFile, 0, NULL, 0);
  board_print("temper-history-end\n");
  return status;
}
