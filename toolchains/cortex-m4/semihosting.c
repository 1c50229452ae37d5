#include "toolchains/cortex-m4/semihosting.h"

#include <stdint.h>

enum { kSysWrite0 = 0x04, kSysExitExtended = 0x20, kStoppedApplicationExit = 0x20026 };

static void call(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void semihosting_write(const char* text) { call(kSysWrite0, text); }

void semihosting_exit(int code) {
  const uint32_t block[2] = {kStoppedApplicationExit, (uint32_t)code};
  for (;;) {
    call(kSysExitExtended, block);
  }
}
