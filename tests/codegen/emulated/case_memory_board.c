// Tensors of case_driver.c on a board: one array, with guards of NaN around each tensor: a write is noticed, and a read
// that takes part in a sum spoils it.
#include <stddef.h>

#include "tests/codegen/emulated/kernel_cases.h"

enum { kGuardWords = 16, kWordCount = 16 << 10, kGuard = 0x7fc5a5a5 };

static uint32_t memory[kWordCount] __attribute__((aligned(64)));
static uint32_t used;

/// Every word that is no tensor's is guard; tensors are remembered in front of theirs.
static struct { uint32_t begin, end; } tensors[8];
static uint32_t tensor_count;

static void guard(uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; ++i) {
    memory[i] = kGuard;
  }
}

uint32_t* case_tensor(uint32_t words, uint32_t side) {
  (void)side;
  const uint32_t begin = used + kGuardWords, end = begin + words;
  const uint32_t next = (end + kGuardWords + 15) / 16 * 16;  // tensors begin at 64 bytes
  if (next > kWordCount || tensor_count == sizeof tensors / sizeof *tensors) {
    return NULL;
  }
  guard(used, begin);
  guard(end, next);
  tensors[tensor_count].begin = begin;
  tensors[tensor_count].end = end;
  ++tensor_count;
  used = next;
  return memory + begin;
}

int case_release_tensors(void) {
  uint32_t from = 0;
  int intact = 1;
  for (uint32_t i = 0; i <= tensor_count; ++i) {
    const uint32_t to = i < tensor_count ? tensors[i].begin : used;
    while (from < to) {
      intact = memory[from++] == kGuard && intact;
    }
    from = i < tensor_count ? tensors[i].end : from;
  }
  tensor_count = 0;
  used = 0;
  return intact;
}
