// Arm semihosting: text to the debugger's console, the words given to the run, and the exit code of the emulator.
// Called by the board support only. A core without a debugger must not call it: it would stop there.
// Source of the operation numbers: Arm, "Semihosting for AArch32 and AArch64", release 2.0.
#ifndef TEMPER_TOOLCHAINS_BOARDS_CORTEX_M_SEMIHOSTING_H
#define TEMPER_TOOLCHAINS_BOARDS_CORTEX_M_SEMIHOSTING_H

#include <stdint.h>

/// Text as it is, terminated by 0.
void semihosting_write(const char* text);
/// The command line, its words separated by blanks; empty when it does not fit or there is none.
void semihosting_command_line(char* text, uint32_t capacity);
/// Ends the emulator with this exit code.
__attribute__((noreturn)) void semihosting_exit(int code);

#endif
