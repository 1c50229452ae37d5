// The port of a Cortex-M board: SysTick is clock and alarm, a CMSDK watchdog guards, semihosting is the console.
#include <string.h>

#include "toolchains/boards/board.h"
#include "toolchains/boards/cortex_m/cortex_m.h"
#include "toolchains/boards/cortex_m/data_flash.h"
#include "toolchains/boards/cortex_m/semihosting.h"

#define SYST_CSR (*(volatile uint32_t*)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t*)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t*)0xE000E018u)
#define CPUID (*(volatile uint32_t*)0xE000ED00u)
#define ICSR (*(volatile uint32_t*)0xE000ED04u)
#define AIRCR (*(volatile uint32_t*)0xE000ED0Cu)
#define PENDSTSET (1u << 26)

enum { kPeriodsPerSecond = 100, kNsPerPeriod = 1000000000 / kPeriodsPerSecond };
enum { kWatchdogLoad = 0, kWatchdogControl = 2, kWatchdogClear = 3, kWatchdogLock = 0xC00 / 4 };
enum { kWatchdogSeconds = 8, kWatchdogKey = 0x1ACCE551, kWatchdogInterrupt = 1, kWatchdogReset = 2 };

extern const uint8_t flash_end[], flash_limit[], bss_end[], ram_end[];
extern uint32_t stack_bottom[], stack_top[];
void systick_handler(void);

static volatile uint32_t periods;        // of the clock since reset
static volatile uint32_t alarm_periods;  // until the alarm rings; 0: it is off
static uint32_t boots __attribute__((section(".retained")));
static uint32_t last_cause __attribute__((section(".retained")));

__attribute__((target("general-regs-only"))) void systick_handler(void) {
  ++periods;
  if (alarm_periods != 0 && --alarm_periods == 0) {
    cortex_m_reset(BOARD_ALARM);
  }
}

void cortex_m_start(void) {
  ++boots;
  SYST_RVR = cortex_m_board.clock_hz / kPeriodsPerSecond - 1;
  SYST_CVR = 0;
  SYST_CSR = 7;  // core clock, interrupt, on
  volatile uint32_t* const watchdog = cortex_m_board.watchdog;
  watchdog[kWatchdogLock] = kWatchdogKey;
  watchdog[kWatchdogLoad] = cortex_m_board.watchdog_hz * kWatchdogSeconds;
  watchdog[kWatchdogControl] = kWatchdogInterrupt | kWatchdogReset;
}

// The counter runs down to 0, where the interrupt is raised, and starts again. A period whose interrupt is still
// pending is counted here, and the two reads of `periods` tell whether the interrupt came in between.
static uint64_t now_ns(void* self) {
  (void)self;
  const uint32_t ticks_per_period = cortex_m_board.clock_hz / kPeriodsPerSecond;
  uint32_t before, pending, count;
  do {
    before = periods;
    count = SYST_CVR;
    pending = ICSR & PENDSTSET;
    if (pending != 0) {
      count = SYST_CVR;
    }
  } while (before != periods);
  const uint32_t turns = before + (pending != 0 ? 1 : 0);
  const uint32_t elapsed = count == 0 ? 0 : ticks_per_period - count;
  return (uint64_t)turns * kNsPerPeriod +
         (elapsed * (uint64_t)cortex_m_board.ns_per_tick >> cortex_m_board.ns_per_tick_shift);
}

static void set_alarm(void* self, uint64_t after_ns) {
  (void)self;
  // One more than asked for: the period that runs is partly over. Beyond the clock's 32 bits it is off.
  const uint64_t after_periods = after_ns == 0 ? 0 : (after_ns + kNsPerPeriod - 1) / kNsPerPeriod + 1;
  alarm_periods = after_periods > UINT32_MAX ? 0 : (uint32_t)after_periods;
}

static void feed_watchdog(void* self) {
  (void)self;
  cortex_m_board.watchdog[kWatchdogClear] = 1;  // loads it again
}

static void log_line(void* self, const char* line) {
  (void)self;
  semihosting_write("log: ");
  semihosting_write(line);
  semihosting_write("\n");
}

const temper_port* board_port(void) {
  static const temper_port port = {.now_ns = now_ns,
                                   .log = log_line,
                                   .feed_watchdog = feed_watchdog,
                                   .set_alarm = set_alarm,
                                   .storage = &data_flash};
  return &port;
}

const char* board_name(void) { return cortex_m_board.name; }
const temper_default_functions* const board_defaults = NULL;
void board_facts(temper_facts* facts) { *facts = cortex_m_board.facts; }
uint32_t board_core_type(void) { return CPUID & 0xFF00FFF0u; }  // implementer, architecture's variant, part
uint32_t board_ns_per_instruction(void) { return cortex_m_board.ns_per_instruction; }
uint32_t board_boot_count(void) { return boots; }
board_cause board_last_cause(void) { return (board_cause)last_cause; }

__attribute__((target("general-regs-only"))) void cortex_m_reset(board_cause cause) {
  last_cause = cause;
  __asm volatile("dsb" ::: "memory");
  AIRCR = 0x05FA0004u;  // key, SYSRESETREQ
  for (;;) {
  }
}

void board_reset(void) { cortex_m_reset(BOARD_RESET); }

// Behind the first word, which names the program.
const char* board_options(void) {
  static char words[128];
  if (words[0] == 0) {
    semihosting_command_line(words, sizeof words);
  }
  return words + strcspn(words, " ");
}

void board_print(const char* text) { semihosting_write(text); }

// What lies just below this frame is its own.
__attribute__((noinline)) void board_forget_stack(uint32_t stack_used) {
  uint32_t* const here = (uint32_t*)__builtin_frame_address(0) - 32;
  uint32_t* const mark = (uint32_t*)((uintptr_t)stack_top - stack_used);
  for (uint32_t* word = stack_bottom; word < here && word < mark; ++word) {
    *word = CORTEX_M_PAINT;
  }
}

const temper_memory* board_memories(uint32_t* count) {
  *count = cortex_m_board.memory_count;
  return cortex_m_board.memories;
}

board_memory board_measure_memory(void) {
  const uint32_t* word = stack_bottom;
  while (word < stack_top && *word == CORTEX_M_PAINT) {
    ++word;
  }
  const board_memory memory = {.flash_used = (uint32_t)(uintptr_t)flash_end,
                               .flash_size = (uint32_t)(uintptr_t)flash_limit,
                               .ram_used = (uint32_t)(bss_end - (const uint8_t*)stack_bottom),
                               .ram_size = (uint32_t)(ram_end - (const uint8_t*)stack_bottom),
                               .stack_used = (uint32_t)((const uint8_t*)stack_top - (const uint8_t*)word),
                               .stack_size = (uint32_t)((const uint8_t*)stack_top - (const uint8_t*)stack_bottom)};
  return memory;
}
