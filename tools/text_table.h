// A table for people: columns as wide as their longest cell. Used by every command that prints results; knows nothing
// of them.
#pragma once

#include <string>
#include <vector>

namespace temper {

enum class Align { kLeft, kRight };

class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit TextTable(std::vector<Column> columns);

  /// One cell per column.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Title line, then the rows, each ended by a newline, no spaces at line ends.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Control characters, which names from foreign files may hold, as '?': a terminal obeys them.
std::string printable(std::string text);
/// The same line by line; lines after the first are indented, so that none passes for a message of its own.
std::string printable_lines(const std::string& text);

/// With this many digits after the point.
std::string decimal(double value, int digits);

}  // namespace temper
