// What the first-boot program prints with: text and numbers on the board's console. No buffer, no printf, no
// allocation.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_CONSOLE_H
#define TEMPER_TOOLCHAINS_FIRMWARE_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Not inlined into main: its frame would lie under all of the tuner's.
#define OWN_FRAME __attribute__((noinline))

void say_number(uint64_t number);
/// The number between two texts.
void say(const char* before, uint64_t number, const char* after);
/// part / whole with three decimals; "-" when whole is 0.
void say_ratio(uint64_t part, uint64_t whole);
/// "FAILED: what: reason". Returns false.
bool say_failure(const char* what, const char* reason);

#ifdef __cplusplus
}
#endif
#endif
