// What a loader must keep, whatever it is given: said where it does not, and the process ends, so that fuzzers, the
// replay of their corpora and the suites all notice.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace temper::test {

inline void demand(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "fuzz: broken: %s\n", what);
    std::abort();
  }
}

}  // namespace temper::test
