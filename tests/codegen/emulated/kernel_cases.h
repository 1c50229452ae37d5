// Cases of kernels that an emulator executes: how write_cases.cc tells case_driver.c what to call, with what, and what
// must come of it. Everything is 32-bit little-endian words; the kernels are those of the pack that the words came in.
// The two also share the inputs' generator, so that tensors need not travel.
#ifndef TEMPER_TESTS_KERNEL_CASES_H
#define TEMPER_TESTS_KERNEL_CASES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The words begin with the number of cases. Each case: the words below, then args (arg_count), then the contents of
/// each tensor that is kWords (as many words as elements) or kBytes (signed, padded to whole words), in the order a, b,
/// bias, addend; then, where `digest` is 0, the expected output.
enum {
  kCaseWords = 0,  ///< words of the whole case
  kCaseKernel,     ///< index into temper_pack.kernels
  kCaseItems,      ///< the grid
  kCaseSeed,       ///< of the inputs, and of where the grid is cut
  kCaseWorkspace,  ///< elements, a multiple of 16
  kCaseDigest,     ///< FNV-1a over the output's words; 0: compared with a tolerance instead
  kCaseTolerance,  ///< bits of f32: largest |got - expected| / max(1, |expected|)
  kCaseArgs,       ///< how many
  kCaseOut,        ///< elements
  kCaseTensors,    ///< four pairs: elements, contents
  kCaseHeader = kCaseTensors + 8
};
enum { kAbsent = 0, kIntegers, kFloats, kWords, kBytes };

static inline uint32_t case_random(uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state >> 8;
}
/// -4..4; sums of these stay exact.
static inline float case_integer(uint32_t* state) { return (float)((int32_t)(case_random(state) % 9) - 4); }
/// Multiples of 2^-15 in [-1, 1).
static inline float case_float(uint32_t* state) {
  return (float)((int32_t)(case_random(state) & 0xffff) - 0x8000) / 32768.0f;
}
static inline uint32_t case_seed(uint32_t seed, uint32_t tensor) { return (seed + 1) * 0x9E3779B9u ^ (tensor + 1); }

/// What the platform gives the driver: memory for `words` words, with bytes around it that a kernel must leave alone
/// and whose contents spoil every sum they enter. side 0: the end lies against the guard, 1: the start. NULL: none
/// left.
uint32_t* case_tensor(uint32_t words, uint32_t side);
/// 1: every guard is as it was. Then forgets all tensors.
int case_release_tensors(void);
void case_print(const char* text);

#ifdef __cplusplus
}
#endif
#endif
