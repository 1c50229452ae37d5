#include "toolchains/firmware/options.h"

#include <stddef.h>
#include <string.h>

#include "toolchains/boards/board.h"

static const char* const kModeNames[MODE_COUNT] = {"tune", "alarm", "watchdog", "check", "exhaust"};

typedef struct number_option {
  const char* name;
  size_t offset;
} number_option;
static const number_option kNumbers[] = {{"budget-ms", offsetof(first_boot_options, budget_ms)},
                                         {"trials", offsetof(first_boot_options, trials)},
                                         {"trials-per-workload", offsetof(first_boot_options, trials_per_workload)},
                                         {"max-trials", offsetof(first_boot_options, max_trials)},
                                         {"boots", offsetof(first_boot_options, boots)},
                                         {"seed", offsetof(first_boot_options, seed)},
                                         {"dump", offsetof(first_boot_options, dump)},
                                         {"plain", offsetof(first_boot_options, plain)},
                                         {"stack-of-kernels", offsetof(first_boot_options, stack_of_kernels)},
                                         {"next-clock-percent", offsetof(first_boot_options, next_clock_percent)},
                                         {"next-driver", offsetof(first_boot_options, next_driver)},
                                         {"every", offsetof(first_boot_options, every)}};

static bool is_word(const char* text, size_t length, const char* word) {
  return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool read_number(const char* text, size_t length, uint32_t* number) {
  uint64_t value = 0;
  for (size_t i = 0; i < length; ++i) {
    if (text[i] < '0' || text[i] > '9' || value > UINT32_MAX / 10) {
      return false;
    }
    value = value * 10 + (uint32_t)(text[i] - '0');
  }
  *number = (uint32_t)value;
  return length > 0 && value <= UINT32_MAX;
}

static bool read_mode(const char* text, size_t length, first_boot_mode* mode) {
  for (int i = 0; i < MODE_COUNT; ++i) {
    if (is_word(text, length, kModeNames[i])) {
      *mode = (first_boot_mode)i;
      return true;
    }
  }
  return false;
}

static bool read_word(const char* word, size_t length, first_boot_options* options) {
  const char* const equals = memchr(word, '=', length);
  if (equals == NULL) {
    return false;
  }
  const size_t name_length = (size_t)(equals - word);
  const size_t value_length = length - name_length - 1;
  if (is_word(word, name_length, "mode")) {
    return read_mode(equals + 1, value_length, &options->mode);
  }
  for (size_t i = 0; i < sizeof kNumbers / sizeof *kNumbers; ++i) {
    if (is_word(word, name_length, kNumbers[i].name)) {
      return read_number(equals + 1, value_length, (uint32_t*)(void*)((char*)options + kNumbers[i].offset));
    }
  }
  return false;
}

static void print_usage(void) {
  board_print("options: mode=");
  for (int i = 0; i < MODE_COUNT; ++i) {
    board_print(i == 0 ? "" : "|");
    board_print(kModeNames[i]);
  }
  for (size_t i = 0; i < sizeof kNumbers / sizeof *kNumbers; ++i) {
    board_print(" ");
    board_print(kNumbers[i].name);
    board_print("=N");
  }
  board_print("\n");
}

bool read_options(first_boot_options* options) {
  *options = (first_boot_options){.budget_ms = TEMPER_BUDGET_MS,
                                  .trials = TEMPER_TRIALS,
                                  .max_trials = TEMPER_MAX_TRIALS,
                                  .boots = 2,
                                  .seed = 1,
                                  .dump = 1,
                                  .plain = 1,
                                  .stack_of_kernels = 1,
                                  .every = 1};
  if (!read_mode(TEMPER_MODE, strlen(TEMPER_MODE), &options->mode)) {
    board_print("configured with an unknown TEMPER_MODE: " TEMPER_MODE "\n");
    print_usage();
    return false;
  }
  for (const char* at = board_options(); *at != 0;) {
    const size_t length = strcspn(at, " ");
    if (length > 0 && !read_word(at, length, options)) {
      board_print("option not understood: ");
      board_print(at);
      board_print("\n");
      print_usage();
      return false;
    }
    at += length;
    at += *at == ' ' ? 1 : 0;
  }
  return true;
}

const char* mode_name(first_boot_mode mode) { return kModeNames[mode]; }
