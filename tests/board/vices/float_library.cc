// Not part of the core: shows that check_core_symbols.cmake notices floating point done by a library.
double half(double number);
double half(double number) { return number / 2.5; }
