// Prints what the arena of a tuner with 32 knobs must hold, part by part, and shows that temper starts in exactly that.
#include "sized_pack.h"
#include "temper/temper.h"
#include "toolchains/boards/board.h"

enum { kPartCount = 12, kArenaBytes = 16 * 1024 };
static uint64_t arena[kArenaBytes / sizeof(uint64_t)];

static void print_number(size_t number) {
  char text[12];
  size_t at = sizeof text - 1;
  text[at] = 0;
  do {
    text[--at] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  board_print(text + at);
}

static void print_bytes(const char* what, size_t bytes) {
  board_print("arena ");
  print_number(bytes);
  board_print(" bytes: ");
  board_print(what);
  board_print("\n");
}

int main(void) {
  const temper_pack pack = {sized_pack_data, sizeof sized_pack_data, 0, 0};
  temper_config config = {.pack = &pack, .port = board_port(), .max_trials = SIZED_PACK_TRIALS, .seed = 1};
  board_facts(&config.facts);
  temper_need parts[kPartCount];
  size_t count = 0, total = 0;
  temper_context* context = 0;
  if (temper_requirements(&config, parts, kPartCount, &count, &total) != TEMPER_OK || count > kPartCount ||
      total > sizeof arena || temper_init(&context, &config, arena, total) != TEMPER_OK) {
    board_print("FAILED\n");
    return 1;
  }
  for (size_t i = 0; i < count; ++i) {
    print_bytes(parts[i].part, parts[i].bytes);
  }
  print_bytes("all of it", total);
  return 0;
}
