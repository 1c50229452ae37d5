#include "toolchains/cortex-m4/board.h"

#include "toolchains/cortex-m4/data_flash.h"
#include "toolchains/cortex-m4/semihosting.h"

#define SYST_CSR (*(volatile uint32_t*)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t*)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t*)0xE000E018u)
#define ICSR (*(volatile uint32_t*)0xE000ED04u)
#define AIRCR (*(volatile uint32_t*)0xE000ED0Cu)

enum { kSysTickBits = 24, kNsPerTick = 40 };  // 25 MHz core clock
#define PENDSTSET (1u << 26)

extern const uint8_t flash_end[];
extern uint32_t stack_bottom[], stack_top[];
extern const uint8_t bss_end[];
void systick_handler(void);

static volatile uint32_t wraps;
static uint32_t boots __attribute__((section(".retained")));

void systick_handler(void) { ++wraps; }

void board_start(void) {
  ++boots;
  SYST_RVR = (1u << kSysTickBits) - 1;
  SYST_CVR = 0;
  SYST_CSR = 7;  // core clock, interrupt, on
}

// The counter runs down and wraps every 0.67 s. A wrap whose interrupt is still pending is counted here, and the two
// reads of `wraps` tell whether the interrupt came in between.
static uint64_t now_ns(void* self) {
  (void)self;
  uint32_t before, pending, count;
  do {
    before = wraps;
    count = SYST_CVR;
    pending = ICSR & PENDSTSET;
    if (pending != 0) {
      count = SYST_CVR;
    }
  } while (before != wraps);
  const uint64_t turns = (uint64_t)before + (pending != 0 ? 1 : 0);
  const uint32_t elapsed = ((1u << kSysTickBits) - 1) - count;
  return ((turns << kSysTickBits) + elapsed) * kNsPerTick;
}

static void log_line(void* self, const char* line) {
  (void)self;
  semihosting_write(line);
  semihosting_write("\n");
}

const temper_port* board_port(void) {
  static const temper_port port = {.now_ns = now_ns, .log = log_line, .storage = &data_flash};
  return &port;
}

uint32_t board_boot_count(void) { return boots; }

void board_reset(void) {
  __asm volatile("dsb" ::: "memory");
  AIRCR = 0x05FA0004u;  // key, SYSRESETREQ
  for (;;) {
  }
}

void board_print(const char* text) { semihosting_write(text); }

void board_print_number(uint64_t number) {
  char digits[21];
  char* at = digits + sizeof digits - 1;
  *at = 0;
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  semihosting_write(at);
}

board_memory board_measure_memory(void) {
  const uint32_t* word = stack_bottom;
  while (word < stack_top && *word == BOARD_PAINT) {
    ++word;
  }
  const board_memory memory = {.flash_used = (uint32_t)(uintptr_t)flash_end,
                               .ram_used = (uint32_t)(bss_end - (const uint8_t*)stack_bottom),
                               .stack_used = (uint32_t)((const uint8_t*)stack_top - (const uint8_t*)word),
                               .stack_size = (uint32_t)((const uint8_t*)stack_top - (const uint8_t*)stack_bottom)};
  return memory;
}
