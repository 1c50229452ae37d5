#include "schedules/loop_nest.h"

#include <algorithm>

namespace temper {
namespace {

// Unrolled statements in one body; beyond it code outgrows instruction caches and compile time grows without gain.
constexpr int32_t kMaxUnrolled = 1024;

Error refuse(const std::string& reason) { return Error{TEMPER_UNSUPPORTED, reason}; }

}  // namespace

const Amount* Access::stride(AxisId axis) const {
  for (const Term& term : terms) {
    if (term.axis == axis) {
      return &term.stride;
    }
  }
  return nullptr;
}

AxisId LoopNest::add_axis(const std::string& name, AxisKind kind, Amount extent) {
  const AxisId axis = static_cast<AxisId>(axes_.size());
  axes_.push_back({name, kind, extent});
  Loop loop;
  loop.id = next_loop_++;
  loop.name = name;
  loop.parts.push_back({axis, Chunk{extent, 1}, Chunk{Amount::constant(1), 1}});
  loops_.push_back(loop);
  return axis;
}

LoopId LoopNest::loop_of(AxisId axis) const {
  for (const Loop& loop : loops_) {
    if (loop.parts.front().axis == axis) {
      return loop.id;
    }
  }
  return 0;
}

size_t LoopNest::find(LoopId loop) const {
  size_t position = 0;
  while (position < loops_.size() && loops_[position].id != loop) {
    ++position;
  }
  return position;
}

bool LoopNest::spatial(const Loop& loop) const { return axes_[loop.parts.front().axis].kind == AxisKind::kSpatial; }

std::optional<int32_t> LoopNest::trip_count(const Loop& loop) const {
  int32_t trips = 1;
  for (const LoopPart& part : loop.parts) {
    if (!part.span.known() || !part.step.known() || part.step.amount.value < 1) {
      return std::nullopt;
    }
    trips *= (part.span.amount.value + part.step.amount.value - 1) / part.step.amount.value;
  }
  return trips;
}

const Access* LoopNest::access(temper_tensor tensor) const {
  for (const Access& access : accesses_) {
    if (access.tensor == tensor) {
      return &access;
    }
  }
  return nullptr;
}

Result<SplitLoops> LoopNest::split(LoopId id, Chunk factor) {
  const size_t position = find(id);
  if (position == loops_.size()) {
    return refuse("split: no such loop");
  }
  const Loop loop = loops_[position];
  if (loop.parts.size() != 1 || loop.kind != LoopKind::kSerial) {
    return refuse("split: " + loop.name + " is fused, unrolled, vectorized or parallel already");
  }
  if (factor.known() && factor.amount.value < 1) {
    return refuse("split: factor of " + loop.name + " is " + std::to_string(factor.amount.value) +
                  ", must be at least 1");
  }
  if (factor.multiple < 1) {
    return refuse("split: factor of " + loop.name + " must be rounded to at least 1");
  }
  const LoopPart& part = loop.parts.front();
  const Amount& step = part.step.amount;
  const int32_t granule = factor.known() ? factor.amount.value : factor.multiple;
  if (!step.is(1) && (!step.known() || granule % step.value != 0)) {
    return refuse("split: factor of " + loop.name + " is not a multiple of the loop's step");
  }
  Loop outer = loop, inner = loop;
  outer.id = next_loop_++;
  inner.id = next_loop_++;
  outer.name = loop.name + "o";
  inner.name = loop.name + "i";
  outer.parts.front().step = factor;
  inner.parts.front().span = factor;
  loops_[position] = outer;
  loops_.insert(loops_.begin() + static_cast<std::ptrdiff_t>(position) + 1, inner);
  return SplitLoops{outer.id, inner.id};
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

Result<bool> LoopNest::reorder(const std::vector<LoopId>& order) {
  std::vector<size_t> places;
  std::vector<Loop> loops = loops_;
  for (LoopId id : order) {
    const size_t position = find(id);
    if (position == loops_.size()) {
      return refuse("reorder: no such loop");
    }
    if (std::find(places.begin(), places.end(), position) != places.end()) {
      return refuse("reorder: " + loops_[position].name + " is listed twice");
    }
    if (loops_[position].kind == LoopKind::kVectorized || loops_[position].exchanged_by) {
      return refuse("reorder: " + loops_[position].name + " is vectorized or exchanged already");
    }
    places.push_back(position);
  }
  std::vector<size_t> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < order.size(); ++i) {
    loops[sorted[i]] = loops_[places[i]];
  }
  // A loop over part of an axis stays inside the loop that cuts the part, and a split leaves them in that order.
  for (size_t i = 0; i < loops.size(); ++i) {
    for (size_t j = i + 1; j < loops.size(); ++j) {
      if (loops[i].parts.front().axis == loops[j].parts.front().axis && find(loops[i].id) > find(loops[j].id)) {
        return refuse("reorder: " + loops[i].name + " would stand outside " + loops[j].name +
                      ", which it is a part of");
      }
    }
  }
  Result<bool> legal = check_reductions(loops);
  if (legal) {
    loops_ = loops;
  }
  return legal;
}

Result<bool> LoopNest::exchange_by(LoopId outer, LoopId inner, Amount argument) {
  const size_t position = find(outer);
  if (position + 1 >= loops_.size() || loops_[position + 1].id != inner) {
    return refuse("exchange: the loops are not adjacent");
  }
  Loop &a = loops_[position], &b = loops_[position + 1];
  if (!spatial(a) || !spatial(b) || a.kind != LoopKind::kSerial || b.kind != LoopKind::kSerial || a.parts.size() != 1 ||
      b.parts.size() != 1 || a.parts.front().axis == b.parts.front().axis) {
    return refuse("exchange: " + a.name + " and " + b.name + " must be serial loops over two spatial axes");
  }
  a.exchanged_by = argument;
  return true;
}

Result<LoopId> LoopNest::fuse(LoopId outer, LoopId inner) {
  const size_t position = find(outer);
  if (position + 1 >= loops_.size() || loops_[position + 1].id != inner) {
    return refuse("fuse: the loops are not adjacent");
  }
  const Loop a = loops_[position], b = loops_[position + 1];
  if (spatial(a) != spatial(b)) {
    return refuse("fuse: " + a.name + " and " + b.name + " mix a spatial and a reduction axis");
  }
  if (a.kind != LoopKind::kSerial || b.kind != LoopKind::kSerial) {
    return refuse("fuse: " + a.name + " and " + b.name + " must both be serial");
  }
  // An exchange survives only as that of the last two parts.
  if ((a.exchanged_by && (a.parts.size() != 1 || b.parts.size() != 1)) ||
      (position > 0 && loops_[position - 1].exchanged_by)) {
    return refuse("fuse: " + a.name + " and " + b.name + " would part two exchanged loops");
  }
  Loop fused = a;
  fused.exchanged_by = a.exchanged_by ? a.exchanged_by : b.exchanged_by;
  fused.id = next_loop_++;
  fused.name = a.name + b.name;
  fused.parts.insert(fused.parts.end(), b.parts.begin(), b.parts.end());
  loops_[position] = fused;
  loops_.erase(loops_.begin() + static_cast<std::ptrdiff_t>(position) + 1);
  return fused.id;
}

Result<bool> LoopNest::unroll(LoopId id) {
  const size_t position = find(id);
  if (position == loops_.size()) {
    return refuse("unroll: no such loop");
  }
  Loop& loop = loops_[position];
  const std::optional<int32_t> trips = trip_count(loop);
  if (!trips) {
    return refuse("unroll: the extent of " + loop.name + " is an argument");
  }
  int64_t body = *trips;
  for (const Loop& other : loops_) {
    if (other.kind == LoopKind::kUnrolled) {
      body *= trip_count(other).value_or(1);
    }
  }
  if (body > kMaxUnrolled) {
    return refuse("unroll: " + loop.name + " would make " + std::to_string(body) + " copies, the limit is " +
                  std::to_string(kMaxUnrolled));
  }
  loop.kind = LoopKind::kUnrolled;
  return true;
}

Result<bool> LoopNest::check_vector_strides(AxisId axis) const {
  for (const Access& access : accesses_) {
    const Amount* stride = access.stride(axis);
    if (stride == nullptr || stride->is(1)) {
      continue;
    }
    const bool packed =
        (access.layout == PackLayout::kPanel || access.layout == PackLayout::kConstant) && access.tile_axis == axis;
    if (!packed && !access.strided_vectors) {
      return refuse("vectorize: tensor " + std::to_string(access.tensor) + " is neither contiguous along " +
                    axes_[axis].name + " nor packed in panels of it");
    }
  }
  return true;
}

Result<bool> LoopNest::vectorize(LoopId id) {
  const size_t position = find(id);
  if (position == loops_.size()) {
    return refuse("vectorize: no such loop");
  }
  Loop& loop = loops_[position];
  if (position + 1 != loops_.size()) {
    return refuse("vectorize: " + loop.name + " is not the innermost loop");
  }
  if (!trip_count(loop) || !loop.parts.front().step.amount.is(1) || loop.parts.size() != 1) {
    return refuse("vectorize: " + loop.name + " has no constant number of single steps");
  }
  if (!spatial(loop)) {
    return refuse("vectorize: " + loop.name + " is a reduction");
  }
  Result<bool> legal = check_vector_strides(loop.parts.front().axis);
  if (legal) {
    loop.kind = LoopKind::kVectorized;
  }
  return legal;
}

Result<bool> LoopNest::parallel(LoopId id) {
  const size_t position = find(id);
  if (position == loops_.size()) {
    return refuse("parallel: no such loop");
  }
  if (position != 0) {
    return refuse("parallel: " + loops_[position].name + " is not the outermost loop");
  }
  if (!spatial(loops_[position])) {
    return refuse("parallel: " + loops_[position].name + " is a reduction");
  }
  loops_[position].kind = LoopKind::kParallel;
  return true;
}

Result<bool> LoopNest::accumulate_in_output(LoopId id) {
  const size_t position = find(id);
  if (position == loops_.size()) {
    return refuse("accumulate: no such loop");
  }
  if (spatial(loops_[position])) {
    return refuse("accumulate: " + loops_[position].name + " is not a reduction");
  }
  loops_[position].accumulates_in_output = true;
  return true;
}

Result<bool> LoopNest::compute_at(LoopId id) {
  const size_t position = find(id);
  if (position == loops_.size()) {
    return refuse("compute_at: no such loop");
  }
  if (!spatial(loops_[position])) {
    return refuse("compute_at: " + loops_[position].name + " is a reduction; its sums are not finished inside it");
  }
  for (size_t i = 0; i < position; ++i) {
    if (!spatial(loops_[i]) && !loops_[i].accumulates_in_output) {
      return refuse("compute_at: " + loops_[position].name + " stands inside the reduction " + loops_[i].name +
                    " and does not enclose the finished sums");
    }
  }
  epilogue_.at = id;
  return true;
}

// Inside the loop at `position`, the operand's part must be bounded by a split factor or a constant: it decides the
// workspace.
Result<bool> LoopNest::check_footprint(const Access& access, size_t position) const {
  for (const Term& term : access.terms) {
    bool bounded = axes_[term.axis].extent.known();
    for (size_t i = 0; i <= position; ++i) {
      for (const LoopPart& part : loops_[i].parts) {
        bounded = bounded || part.axis == term.axis;
      }
    }
    if (!bounded) {
      return refuse("pack: the extent of " + axes_[term.axis].name + " inside " + loops_[position].name +
                    " is unknown; split it first");
    }
  }
  return true;
}

Result<bool> LoopNest::pack(temper_tensor tensor, PackLayout layout, AxisId tile_axis, int32_t tile, LoopId at) {
  auto found =
      std::find_if(accesses_.begin(), accesses_.end(), [&](const Access& access) { return access.tensor == tensor; });
  if (found == accesses_.end() || tensor == TEMPER_OUT) {
    return refuse("pack: the tensor is not an operand of the nest");
  }
  if (tile < 1 || found->stride(tile_axis) == nullptr) {
    return refuse("pack: panels need a positive tile of an axis that the operand has");
  }
  if (layout == PackLayout::kPanel || layout == PackLayout::kRows) {
    const size_t position = find(at);
    if (position == loops_.size()) {
      return refuse("pack: no such loop");
    }
    if (Result<bool> bounded = check_footprint(*found, position); !bounded) {
      return bounded;
    }
  } else if (found->image && found->image->enabled.is(found->image->enabled_value)) {
    return refuse("pack: an image cannot be packed once; it changes with every execution");
  }
  found->layout = layout;
  found->pack_at = layout == PackLayout::kConstant ? 0 : at;
  found->tile_axis = tile_axis;
  found->tile = tile;
  return true;
}

size_t LoopNest::register_begin() const {
  size_t begin = loops_.size();
  while (begin > 0) {
    const Loop& loop = loops_[begin - 1];
    const bool held = loop.kind == LoopKind::kUnrolled || loop.kind == LoopKind::kVectorized ||
                      (!spatial(loop) && !loop.accumulates_in_output);
    if (!held) {
      break;
    }
    --begin;
  }
  return begin;
}

int32_t LoopNest::copies(AxisId axis, LoopKind kind) const {
  int32_t copies = 1;
  for (const Loop& loop : loops_) {
    if (loop.kind == kind && loop.parts.front().axis == axis) {
      copies *= trip_count(loop).value_or(1);
    }
  }
  return copies;
}

}  // namespace temper
