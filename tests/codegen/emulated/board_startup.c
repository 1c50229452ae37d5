// Start-up and console of case_driver.c on the emulated Cortex-M boards: vectors, FPU and vector unit on, main, exit
// code by semihosting. All memory is as the loader left it: the image is in RAM, data included.
#include <stdint.h>

#include "tests/codegen/emulated/kernel_cases.h"

#define CPACR (*(volatile uint32_t*)0xE000ED88u)

extern uint32_t stack_top[];
int main(void);
void reset_handler(void);

enum { kSysWrite0 = 0x04, kSysExitExtended = 0x20, kStoppedApplicationExit = 0x20026 };

static void semihosting(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm("r0") = operation;
  register const void* r1 __asm("r1") = argument;
  __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void case_print(const char* text) { semihosting(kSysWrite0, text); }

static void leave(int code) {
  const uint32_t block[2] = {kStoppedApplicationExit, (uint32_t)code};
  for (;;) {
    semihosting(kSysExitExtended, block);
  }
}

// Keeps libgcc's routines from drawing in the unwinder: nothing here throws.
void __aeabi_unwind_cpp_pr0(void);
void __aeabi_unwind_cpp_pr0(void) {}

void reset_handler(void) {
  CPACR |= 0xFu << 20;
  __asm volatile("dsb\n isb" ::: "memory");
  leave(main());
}

static void fault_handler(void) {
  case_print("fault\n");
  leave(99);
}

typedef struct vector_table {
  uint32_t* stack;
  void (*handler[15])(void);
} vector_table;

__attribute__((section(".vectors"), used)) static const vector_table vectors = {
    stack_top,
    {reset_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, 0, 0, 0, 0,
     fault_handler, fault_handler, 0, fault_handler, fault_handler}};
