// Not part of the core: shows that check_core_symbols.cmake notices a static constructor.
int start_value();
int value = start_value();
