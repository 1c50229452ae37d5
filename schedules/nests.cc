#include "schedules/nests.h"

namespace temper {

Amount NestInput::dim(int32_t index) const {
  return dims == nullptr ? Amount::argument(index) : Amount::constant((*dims)[static_cast<size_t>(index)]);
}

Amount NestInput::run_knob(int32_t index, int32_t dim_count) const {
  return dims == nullptr ? Amount::argument(dim_count + index) : Amount::constant(knobs[static_cast<size_t>(index)]);
}

}  // namespace temper
