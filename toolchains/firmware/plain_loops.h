// ds_cnn's operators as a plain C loop nest: the direct definition, sizes known to the compiler, built with -O3 for the
// same core. What temper's kernels are set beside on a board. Called by the first-boot program after tuning; never
// allocates.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_PLAIN_LOOPS_H
#define TEMPER_TOOLCHAINS_FIRMWARE_PLAIN_LOOPS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plain_loop {
  const char* workload;  ///< name in ds_cnn
  size_t out_elements, image_elements, filter_elements, bias_elements;
  void (*run)(float* out, const float* image, const float* filter, const float* bias);
} plain_loop;

/// The loop nest of a workload, told by its name; NULL when it is not one of ds_cnn's.
const plain_loop* find_plain_loop(const char* workload);

#ifdef __cplusplus
}
#endif
#endif
