// Writes the tests' table as C source to the file named first; built and run by the suite, which compiles the result as
// C and C++.
#include <cstdio>

#include "tests/runtime/written_table.h"

int main(int argc, char** argv) {
  const auto table = temper::test::written_table();
  if (argc != 2 || !table.ok()) {
    return 2;
  }
  const auto source = temper::table_as_c_source(*table, "WRITTEN_TABLE", "write_table_source FILE");
  std::FILE* const file = std::fopen(argv[1], "w");
  if (!source.ok() || file == nullptr || std::fputs(source->c_str(), file) < 0 || std::fclose(file) != 0) {
    return 2;
  }
  return 0;
}
