#include "tools/duration.h"

#include <charconv>
#include <cstdio>

namespace temper {
namespace {

struct Unit {
  const char* name;
  double ns;
};
constexpr Unit kUnits[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
constexpr double kLongestNs = 4.6e18;

}  // namespace

Result<uint64_t> parse_duration(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string unit_name(rest, end);
  for (const Unit& unit : kUnits) {
    const double ns = number * unit.ns;
    if (error == std::errc() && unit_name == unit.name && ns >= 1.0 && ns < kLongestNs) {
      return static_cast<uint64_t>(ns);
    }
  }
  return Error{TEMPER_INVALID_ARGUMENT, "'" + text + "' is no duration; write 500ms, 20s, 5m or 2h"};
}

std::string duration_text(uint64_t ns) {
  const double value = static_cast<double>(ns);
  const Unit* shown = nullptr;
  static constexpr Unit kShown[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1.0}};
  for (const Unit& unit : kShown) {
    if (shown == nullptr && (value >= unit.ns || unit.ns == 1.0)) {
      shown = &unit;
    }
  }
  const double scaled = value / shown->ns;
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s",
                shown->ns == 1.0 || scaled >= 100 ? 0
                : scaled >= 10                    ? 1
                                                  : 2,
                scaled, shown->name);
  return text;
}

}  // namespace temper
