// Not part of the core: shows that check_core_symbols.cmake notices a symbol that nobody promised.
extern "C" int printf(const char* format, ...);
void greet();
void greet() { printf("hello\n"); }
