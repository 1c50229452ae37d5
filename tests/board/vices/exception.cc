// Not part of the core: shows that check_core_symbols.cmake notices an exception.
int positive(int number);
int positive(int number) {
  if (number <= 0) {
    throw number;
  }
  return number;
}
