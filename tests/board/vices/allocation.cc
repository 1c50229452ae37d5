// Not part of the core: shows that check_core_symbols.cmake notices an allocation.
int* one_on_the_heap();
int* one_on_the_heap() { return new int(1); }
