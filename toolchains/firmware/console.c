#include "toolchains/firmware/console.h"

#include "toolchains/boards/board.h"

void say_number(uint64_t number) {
  char digits[21];
  char* at = digits + sizeof digits - 1;
  *at = 0;
  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  board_print(at);
}

void say(const char* before, uint64_t number, const char* after) {
  board_print(before);
  say_number(number);
  board_print(after);
}

void say_ratio(uint64_t part, uint64_t whole) {
  if (whole == 0) {
    board_print("-");
    return;
  }
  const uint64_t thousandths = (part * 1000 + whole / 2) / whole;
  say_number(thousandths / 1000);
  const char decimals[] = {'.', (char)('0' + thousandths / 100 % 10), (char)('0' + thousandths / 10 % 10),
                           (char)('0' + thousandths % 10), 0};
  board_print(decimals);
}

bool say_failure(const char* what, const char* reason) {
  board_print("FAILED: ");
  board_print(what);
  board_print(": ");
  board_print(reason);
  board_print("\n");
  return false;
}
