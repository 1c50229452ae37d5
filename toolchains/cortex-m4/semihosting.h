// Arm semihosting: text to the debugger's console and the exit code of the emulator. Called by the board support only.
// Source of the operation numbers: Arm, "Semihosting for AArch32 and AArch64", release 2.0.
#ifndef TEMPER_TOOLCHAINS_CORTEX_M4_SEMIHOSTING_H
#define TEMPER_TOOLCHAINS_CORTEX_M4_SEMIHOSTING_H

/// Text as it is, terminated by 0.
void semihosting_write(const char* text);
/// Ends the emulator with this exit code.
__attribute__((noreturn)) void semihosting_exit(int code);

#endif
