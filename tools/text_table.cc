#include "tools/text_table.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace temper {
namespace {

/// Characters as a terminal counts them: UTF-8 continuation bytes take no room.
size_t width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  std::transform(cells.begin(), cells.end(), cells.begin(), printable);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns_) {
    lines[0].push_back(column.title);
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width(line[i]));
    }
  }
  std::string out;
  for (const auto& line : lines) {
    std::string row;
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string padding(widths[i] - width(line[i]), ' ');
      row += i == 0 ? "" : "  ";
      row += columns_[i].align == Align::kRight ? padding + line[i] : line[i] + padding;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  return out;
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return text;
}

std::string printable_lines(const std::string& text) {
  std::string lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (begin == 0 || end > begin) {
      lines += (begin == 0 ? "" : "\n  ") + printable(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return lines;
}

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace temper
