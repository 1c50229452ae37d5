// Executes kernels on what may be an emulated core and compares their outputs with what the host expects. Linked with a
// pack whose data are cases (kernel_cases.h) and with one of the case_memory files. Ends with 0 only if no case is bad.
#include <stddef.h>

#include "temper/kernel.h"
#include "tests/codegen/emulated/kernel_cases.h"

extern const temper_pack cases_pack;

enum { kPoison = 0xffffffffu, kInputs = 4 };

static void print_number(uint32_t number) {
  char digits[11];
  char* at = digits + sizeof digits - 1;
  *at = 0;
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  case_print(at);
}

static float as_float(uint32_t bits) {
  union {
    uint32_t bits;
    float value;
  } both = {bits};
  return both.value;
}

static void fill(uint32_t* tensor, uint32_t count, uint32_t contents, uint32_t seed) {
  float* const values = (float*)tensor;
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = contents == kIntegers ? case_integer(&seed) : case_float(&seed);
  }
}

/// Words of the case that the tensor took.
static uint32_t read_tensor(uint32_t* tensor, uint32_t count, uint32_t contents, const uint32_t* words) {
  if (contents == kBytes) {
    const signed char* const bytes = (const signed char*)words;
    for (uint32_t i = 0; i < count; ++i) {
      ((float*)tensor)[i] = (float)bytes[i];
    }
    return (count + 3) / 4;
  }
  for (uint32_t i = 0; i < count; ++i) {
    tensor[i] = words[i];
  }
  return count;
}

static int as_expected(const uint32_t* out, const uint32_t* one, const uint32_t* expected) {
  const uint32_t count = one[kCaseOut];
  if (one[kCaseDigest] != 0) {
    uint32_t digest = 0x811C9DC5u;
    for (uint32_t i = 0; i < count; ++i) {
      digest = (digest ^ (out[i] == 0x80000000u ? 0 : out[i])) * 0x01000193u;  // -0 is 0
    }
    return digest == one[kCaseDigest];
  }
  const float tolerance = as_float(one[kCaseTolerance]);
  for (uint32_t i = 0; i < count; ++i) {
    const float want = as_float(expected[i]), got = as_float(out[i]);
    const float size = want < -1.0f ? -want : want > 1.0f ? want : 1.0f, error = got < want ? want - got : got - want;
    if (!(error <= tolerance * size)) {  // NaN is wrong
      return 0;
    }
  }
  return 1;
}

/// NULL, or what is wrong.
static const char* run_case(const uint32_t* one) {
  const uint32_t side = one[kCaseSeed] & 1;
  const uint32_t* words = one + kCaseHeader + one[kCaseArgs];
  uint32_t* inputs[kInputs];
  for (uint32_t i = 0; i < kInputs; ++i) {
    const uint32_t count = one[kCaseTensors + 2 * i], contents = one[kCaseTensors + 2 * i + 1];
    inputs[i] = NULL;
    if (contents == kAbsent) {
      continue;
    }
    inputs[i] = case_tensor(count, side);
    if (inputs[i] == NULL) {
      return "no memory";
    }
    if (contents == kIntegers || contents == kFloats) {
      fill(inputs[i], count, contents, case_seed(one[kCaseSeed], i));
    } else {
      words += read_tensor(inputs[i], count, contents, words);
    }
  }
  uint32_t* const out = case_tensor(one[kCaseOut], side);
  uint32_t* const workspace = case_tensor(one[kCaseWorkspace], 0);
  if (out == NULL || workspace == NULL) {
    return "no memory";
  }
  for (uint32_t i = 0; i < one[kCaseOut]; ++i) {
    out[i] = kPoison;
  }
  uint32_t cuts = case_seed(one[kCaseSeed], kInputs);
  const int32_t items = (int32_t)one[kCaseItems];
  for (int32_t begin = 0; begin < items;) {
    const int32_t wanted = begin + 1 + (int32_t)(case_random(&cuts) % 3), end = wanted < items ? wanted : items;
    for (uint32_t i = 0; i < one[kCaseWorkspace]; ++i) {
      workspace[i] = kPoison;
    }
    cases_pack.kernels[one[kCaseKernel]]((float*)out, (const float*)inputs[0], (const float*)inputs[1],
                                         (const float*)inputs[2], (const float*)inputs[3], workspace,
                                         (const int32_t*)(one + kCaseHeader), begin, end);
    begin = end;
  }
  return as_expected(out, one, words) ? NULL : "wrong output";
}

int main(void) {
  const uint32_t* const words = (const uint32_t*)cases_pack.data;
  const uint32_t count = words[0];
  const uint32_t* one = words + 1;
  uint32_t bad = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const char* wrong = run_case(one);
    if (!case_release_tensors() && wrong == NULL) {
      wrong = "guard overwritten";
    }
    if (wrong != NULL) {
      ++bad;
      case_print("case ");
      print_number(i);
      case_print(": ");
      case_print(wrong);
      case_print("\n");
    }
    one += one[kCaseWords];
  }
  print_number(count);
  case_print(" cases, ");
  print_number(bad);
  case_print(" bad\n");
  return bad == 0 && count > 0 ? 0 : 1;
}
