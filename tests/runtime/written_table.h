// A small table, written the same way by the tests and by the generator of the C source that the suite compiles.
#pragma once

#include "schedules/table_writer.h"

namespace temper::test {

inline Result<std::vector<uint8_t>> written_table() {
  return write_table({{9, 1, 2, 100, 50, {{2, 20}, {1, 10}}, "nine"}, {3, 1, 2, 7, 6, {}, "three"}}, Fingerprint(),
                     "target");
}

}  // namespace temper::test
