// Start-up of a Cortex-M core: vectors, FPU, memory, then main. Runs no static constructors (the linker script refuses
// them). All RAM outside the retained section is painted first, so that nothing survives a reset but what real flash
// would keep.
#include <stdint.h>

#include "toolchains/boards/cortex_m/cortex_m.h"
#include "toolchains/boards/cortex_m/semihosting.h"

extern uint32_t stack_bottom[], stack_top[], data_begin[], data_end[], bss_begin[], bss_end[], ram_end[];
extern const uint32_t data_image[];

int main(void);
void reset_handler(void);
void systick_handler(void);

#define CPACR (*(volatile uint32_t*)0xE000ED88u)
#define FPCCR (*(volatile uint32_t*)0xE000EF34u)

// Keeps libgcc's division routines from drawing in the unwinder: nothing here throws.
void __aeabi_unwind_cpp_pr0(void);
void __aeabi_unwind_cpp_pr0(void) {}

// Not inlined, no FPU use and no calls: it runs before memory is set up, and below its own frame it paints the stack.
__attribute__((noinline)) static void set_up_memory(void) {
  uint32_t* const here = (uint32_t*)__builtin_frame_address(0) - 32;
  for (uint32_t* word = stack_bottom; word < here; ++word) {
    *word = CORTEX_M_PAINT;
  }
  for (uint32_t* word = stack_top; word < ram_end; ++word) {
    *word = CORTEX_M_PAINT;
  }
  const uint32_t* from = data_image;
  for (uint32_t* word = data_begin; word < data_end; ++word) {
    *word = *from++;
  }
  for (uint32_t* word = bss_begin; word < bss_end; ++word) {
    *word = 0;
  }
}

void reset_handler(void) {
  CPACR |= 0xFu << 20;   // full access to the FPU
  FPCCR &= ~(3u << 30);  // handlers use no FPU registers: none are stacked for them
  __asm volatile("dsb\n isb" ::: "memory");
  set_up_memory();
  cortex_m_start();
  semihosting_exit(main());
}

// A candidate that faults costs a reset: its intent is open in the history, so the next boot leaves it alone.
static void fault_handler(void) {
  semihosting_write("fault\n");
  cortex_m_reset(BOARD_FAULT);
}

static void nmi_handler(void) { cortex_m_reset(BOARD_WATCHDOG); }

typedef struct vector_table {
  uint32_t* stack;
  void (*handler[15])(void);
} vector_table;

// Exceptions 1 to 15; no device interrupt is used.
__attribute__((section(".vectors"), used)) static const vector_table vectors = {
    stack_top,
    {reset_handler, nmi_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, 0, 0, 0,
     fault_handler, fault_handler, 0, fault_handler, systick_handler}};
