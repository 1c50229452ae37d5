#include "schedules/nests.h"

namespace temper {

std::optional<int32_t> NestInput::known(int32_t index) const {
  const auto at = static_cast<size_t>(index);
  if (dims != nullptr) {
    return (*dims)[at];
  }
  return fixed != nullptr && at < fixed->size() ? (*fixed)[at] : std::nullopt;
}

Amount NestInput::dim(int32_t index) const {
  const std::optional<int32_t> number = known(index);
  return number ? Amount::constant(*number) : Amount::argument(index);
}

Amount NestInput::run_knob(int32_t index, int32_t dim_count) const {
  return dims == nullptr ? Amount::argument(dim_count + index) : Amount::constant(knobs[static_cast<size_t>(index)]);
}

}  // namespace temper
