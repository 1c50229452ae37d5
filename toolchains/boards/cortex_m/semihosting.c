#include "toolchains/boards/cortex_m/semihosting.h"

enum { kSysWrite0 = 0x04, kSysGetCommandLine = 0x15, kSysExitExtended = 0x20, kStoppedApplicationExit = 0x20026 };

static uint32_t call(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void semihosting_write(const char* text) { call(kSysWrite0, text); }

void semihosting_command_line(char* text, uint32_t capacity) {
  uint32_t block[2] = {(uint32_t)(uintptr_t)text, capacity};
  text[0] = 0;
  if (call(kSysGetCommandLine, block) != 0) {
    text[0] = 0;
  }
}

void semihosting_exit(int code) {
  const uint32_t block[2] = {kStoppedApplicationExit, (uint32_t)code};
  for (;;) {
    call(kSysExitExtended, block);
  }
}
