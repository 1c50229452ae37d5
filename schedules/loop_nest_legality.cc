// What the primitives of a loop nest ask before they change it; each answer carries the reason.
#include "schedules/loop_nest.h"

namespace temper {
namespace {

Error refuse(const std::string& reason) { return Error{TEMPER_UNSUPPORTED, reason}; }

}  // namespace

bool LoopNest::exchanged(size_t position) const {
  return loops_[position].exchanged_by.has_value() || (position > 0 && loops_[position - 1].exchanged_by.has_value());
}

bool LoopNest::has_stage(LoopId loop) const {
  bool found = epilogue_.at == loop;
  for (const Access& access : accesses_) {
    found = found || access.pack_at == loop;
  }
  return found;
}

// A sum lives in registers from its first to its last term, unless its passes are declared to meet in the output:
// inside a register reduction only loops of a known, small size can stand, because they become the register tile.
Result<bool> LoopNest::check_reductions(const std::vector<Loop>& loops) const {
  for (size_t i = 0; i < loops.size(); ++i) {
    if (spatial(loops[i]) || loops[i].accumulates_in_output) {
      continue;
    }
    for (size_t j = i + 1; j < loops.size(); ++j) {
      if (spatial(loops[j]) && !trip_count(loops[j])) {
        return refuse("reorder: reduction " + loops[i].name + " would stand outside " + loops[j].name +
                      ", away from its accumulator; let it accumulate in the output first");
      }
    }
  }
  return true;
}

Result<bool> LoopNest::check_epilogue(const std::vector<Loop>& loops, size_t position) const {
  if (!spatial(loops[position])) {
    return refuse("compute_at: " + loops[position].name + " is a reduction; its sums are not finished inside it");
  }
  for (size_t i = 0; i < position; ++i) {
    if (!spatial(loops[i]) && !loops[i].accumulates_in_output) {
      return refuse("compute_at: " + loops[position].name + " stands inside the reduction " + loops[i].name +
                    " and does not enclose the finished sums");
    }
  }
  return true;
}

// Inside the loop at `position`, the operand's part must be bounded by a split factor or a constant: it decides the
// workspace.
Result<bool> LoopNest::check_footprint(const std::vector<Loop>& loops, const Access& access, size_t position) const {
  for (const Term& term : access.terms) {
    bool bounded = axes_[term.axis].extent.known();
    for (size_t i = 0; i <= position; ++i) {
      for (const LoopPart& part : loops[i].parts) {
        bounded = bounded || part.axis == term.axis;
      }
    }
    if (!bounded) {
      return refuse("pack: the extent of " + axes_[term.axis].name + " inside " + loops[position].name +
                    " is unknown; split it first");
    }
  }
  return true;
}

// Where operands are packed and the epilogue runs must still be right in another order of the loops.
Result<bool> LoopNest::check_stages(const std::vector<Loop>& loops) const {
  for (size_t position = 0; position < loops.size(); ++position) {
    Result<bool> legal = true;
    if (epilogue_.at == loops[position].id) {
      legal = check_epilogue(loops, position);
    }
    for (size_t i = 0; i < accesses_.size() && legal; ++i) {
      if (accesses_[i].pack_at == loops[position].id) {
        legal = check_footprint(loops, accesses_[i], position);
      }
    }
    if (!legal) {
      return legal;
    }
  }
  return true;
}

Result<bool> LoopNest::check_vectors(const Access& access, AxisId axis) const {
  const Amount* stride = access.stride(axis);
  if (stride == nullptr) {
    return true;
  }
  const bool panels = access.layout == PackLayout::kPanel || access.layout == PackLayout::kConstant;
  const bool in_place = access.layout == PackLayout::kInPlace && (stride->is(1) || access.strided_vectors);
  if (!in_place && !(panels && access.tile_axis == axis)) {
    return refuse("vectorize: tensor " + std::to_string(access.tensor) + " is neither contiguous along " +
                  axes_[axis].name + " nor packed in panels of it");
  }
  return true;
}

}  // namespace temper
