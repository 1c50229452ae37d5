#include "schedules/loop_nest.h"

#include <algorithm>

namespace temper {
namespace {

// Unrolled statements in one body; beyond it code outgrows instruction caches and compile time grows without gain.
constexpr int32_t kMaxUnrolled = 1024;

Error refuse(const std::string& reason) { return Error{TEMPER_UNSUPPORTED, reason}; }

const char* kind_name(LoopKind kind) {
  constexpr const char* kNames[] = {"serial", "unrolled", "vectorized", "parallel"};
  return kNames[static_cast<size_t>(kind)];
}

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
  int64_t trips = 1;
  for (const LoopPart& part : loop.parts) {
    if (!part.span.known() || !part.step.known() || part.step.amount.value < 1) {
      return std::nullopt;
    }
    const int64_t span = part.span.amount.value, step = part.step.amount.value;
    trips = std::min<int64_t>(INT32_MAX, trips * ((span + step - 1) / step));
  }
  return static_cast<int32_t>(trips);
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
  if (exchanged(position)) {
    return refuse("split: " + loop.name + " is exchanged already");
  }
  if (has_stage(id)) {
    return refuse("split: " + loop.name + " is where an operand is packed or the epilogue runs; split it first");
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
    const LoopKind kind = loops_[position].kind;
    if (kind == LoopKind::kVectorized || kind == LoopKind::kParallel || exchanged(position)) {
      return refuse("reorder: " + loops_[position].name + " is vectorized, parallel or exchanged already");
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
    legal = check_stages(loops);
  }
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
  if (exchanged(position) || b.exchanged_by) {
    return refuse("exchange: " + a.name + " or " + b.name + " is exchanged already");
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
  if (has_stage(outer) || has_stage(inner)) {
    return refuse("fuse: an operand is packed or the epilogue runs at " + (has_stage(outer) ? a.name : b.name));
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
  if (loop.kind != LoopKind::kSerial) {
    return refuse("unroll: " + loop.name + " is " + kind_name(loop.kind) + " already");
  }
  if (loop.parts.size() != 1 || exchanged(position)) {
    return refuse("unroll: " + loop.name + " is fused or exchanged");
  }
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

Result<bool> LoopNest::vectorize(LoopId id) {
  const size_t position = find(id);
  if (position == loops_.size()) {
    return refuse("vectorize: no such loop");
  }
  Loop& loop = loops_[position];
  if (position + 1 != loops_.size()) {
    return refuse("vectorize: " + loop.name + " is not the innermost loop");
  }
  if (loop.kind != LoopKind::kSerial) {
    return refuse("vectorize: " + loop.name + " is " + kind_name(loop.kind) + " already");
  }
  if (exchanged(position)) {
    return refuse("vectorize: " + loop.name + " is exchanged already");
  }
  if (!trip_count(loop) || !loop.parts.front().step.amount.is(1) || loop.parts.size() != 1) {
    return refuse("vectorize: " + loop.name + " has no constant number of single steps");
  }
  if (!spatial(loop)) {
    return refuse("vectorize: " + loop.name + " is a reduction");
  }
  Result<bool> legal = true;
  for (size_t i = 0; i < accesses_.size() && legal; ++i) {
    legal = check_vectors(accesses_[i], loop.parts.front().axis);
  }
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
  const Loop& loop = loops_[position];
  if (loop.kind != LoopKind::kSerial) {
    return refuse("parallel: " + loop.name + " is " + kind_name(loop.kind) + " already");
  }
  if (loop.exchanged_by && loop.parts.size() < 2) {
    return refuse("parallel: " + loop.name + " is exchanged with the next loop; fuse them first");
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
  Result<bool> legal = check_epilogue(loops_, position);
  if (legal) {
    epilogue_.at = id;
  }
  return legal;
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
    if (Result<bool> bounded = check_footprint(loops_, *found, position); !bounded) {
      return bounded;
    }
  } else if (found->image && found->image->enabled.is(found->image->enabled_value)) {
    return refuse("pack: an image cannot be packed once; it changes with every execution");
  }
  Access packed = *found;
  packed.layout = layout;
  packed.pack_at = layout == PackLayout::kConstant ? 0 : at;
  packed.tile_axis = tile_axis;
  packed.tile = tile;
  if (!loops_.empty() && loops_.back().kind == LoopKind::kVectorized) {
    if (Result<bool> vectors = check_vectors(packed, loops_.back().parts.front().axis); !vectors) {
      return vectors;
    }
  }
  *found = packed;
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
