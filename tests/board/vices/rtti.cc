// Not part of the core: shows that check_core_symbols.cmake notices run-time type information.
struct Base {
  virtual int number() const;
};
int Base::number() const { return 1; }
