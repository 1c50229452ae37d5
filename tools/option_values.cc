#include "tools/option_values.h"

#include <charconv>
#include <cstdio>
#include <string>

namespace temper {
namespace {

template <typename Number>
bool read_number(const std::string& text, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

std::string shortest(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

CLI::Validator whole_number(uint64_t least, uint64_t most) {
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  const auto check = [=](std::string& text) -> std::string {
    uint64_t value = 0;
    if (!read_number(text, &value) || value < least || value > most) {
      return "'" + text + "' is not a whole number from " + range;
    }
    text = std::to_string(value);
    return "";
  };
  const bool bounded = most < UINT32_MAX;
  return CLI::Validator(check, bounded ? range : least == 0 ? "" : "at least " + std::to_string(least));
}

CLI::Validator byte_offset() {
  const auto check = [](std::string& text) -> std::string {
    const bool hexadecimal = text.rfind("0x", 0) == 0 || text.rfind("0X", 0) == 0;
    const char* const first = text.data() + (hexadecimal ? 2 : 0);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), value, hexadecimal ? 16 : 10);
    if (error != std::errc() || end != text.data() + text.size()) {
      return "'" + text + "' is not an offset such as 4096 or 0x1000";
    }
    text = std::to_string(value);
    return "";
  };
  return CLI::Validator(check, "");
}

CLI::Validator real_number(double least, double most) {
  const std::string range = shortest(least) + " to " + shortest(most);
  const auto check = [=](std::string& text) -> std::string {
    double value = 0;
    const bool inside = read_number(text, &value) && value >= least && value <= most;  // a NaN is in no interval
    return inside ? "" : "'" + text + "' is not a number from " + range;
  };
  return CLI::Validator(check, range);
}

}  // namespace temper
