#include "runtime/status.h"

namespace {

constexpr const char* kStatusNames[] = {
    "ok",          "more",         "invalid argument", "no memory",     "bad data",
    "bad version", "not found",    "storage full",     "storage error", "unsupported",
    "cancelled",   "budget spent", "nothing to tune",  "port error",    "busy",
};
static_assert(sizeof kStatusNames / sizeof *kStatusNames == TEMPER_STATUS_COUNT, "one name per status");

constexpr const char* kOutcomeNames[] = {
    "ok", "invalid", "build_error", "wrong_result", "crashed", "timeout", "too_slow",
};
static_assert(sizeof kOutcomeNames / sizeof *kOutcomeNames == TEMPER_OUTCOME_COUNT, "one name per outcome");

}  // namespace

const char* temper_status_name(temper_status status) {
  const unsigned index = static_cast<unsigned>(status);
  return index < TEMPER_STATUS_COUNT ? kStatusNames[index] : "unknown";
}

const char* temper_outcome_name(temper_outcome outcome) {
  const unsigned index = static_cast<unsigned>(outcome);
  return index < TEMPER_OUTCOME_COUNT ? kOutcomeNames[index] : "unknown";
}
