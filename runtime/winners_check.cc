// The self-check of temper/winners.h: the small integers and the digest of runtime/check.h, in C.
#include "runtime/check.h"
#include "temper/winners.h"

void temper_check_fill(temper_tensor which, float* tensor, size_t elements) {
  temper::fill_small_integers(which, {tensor, elements});
}

uint32_t temper_check_digest(const float* output, size_t elements) { return temper::digest({output, elements}); }
