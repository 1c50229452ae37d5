#include "codegen/nest_walker.h"

namespace temper {

using llvm::Value;

NestWalker::NestWalker(Emitter& emitter, const LoopNest& nest, size_t register_begin)
    : e_(emitter), nest_(nest), register_begin_(register_begin) {
  for (const Axis& axis : nest.axes()) {
    axes_.push_back({e_.integer(0), e_.integer(0), e_.amount(axis.extent)});
  }
}

void NestWalker::walk() { loops_from(0); }

void NestWalker::loops_from(size_t place) {
  if (place >= register_begin_) {
    register_tile();
  } else if (nest_.loops()[place].kind == LoopKind::kParallel) {
    grid(place);
  } else if (nest_.loops()[place].exchanged_by) {
    exchanged(place);
  } else {
    serial(place);
  }
}

Value* NestWalker::piece(Value* left, Value* step, Value* whole) {
  int64_t size = 0, total = 0;
  if (Emitter::known(step, &size) && Emitter::known(whole, &total) && size > 0) {
    return e_.integer(total <= size ? total : size) == left || total <= size ? left
           : total % size == 0                                               ? step
                                                                             : e_.minimum(step, left);
  }
  return e_.minimum(step, left);
}

// The loop's piece of the axis that starts `at` inside the piece it runs over.
void NestWalker::enter(const LoopPart& part, Value* from, Value* at) {
  AxisState& state = axes_[part.axis];
  Value* step = e_.chunk(part.step, nest_.axes()[part.axis].extent);
  Value* whole = state.left;
  state.inside = e_.add(from, at);
  state.left = piece(e_.sub(whole, at), step, whole);
}

void NestWalker::grid(size_t place) {
  const Loop& loop = nest_.loops()[place];
  const std::vector<AxisState> saved = axes_;
  std::vector<Value*> counts;
  for (const LoopPart& part : loop.parts) {
    Value* whole = extent(part.axis);
    Value* step = e_.chunk(part.step, nest_.axes()[part.axis].extent);
    counts.push_back(e_.at_entry([&] { return e_.ceil_div(whole, step); }));
  }
  const size_t last = loop.parts.size() - 1;
  Value* kept = loop.exchanged_by ? e_.equal(e_.amount(*loop.exchanged_by), 0) : nullptr;
  e_.loop(e_.begin_item(), e_.end_item(), e_.integer(1), [&](Value* item) {
    Values indices(loop.parts.size());
    Values order = counts;
    if (kept != nullptr) {
      order[last] = e_.builder().CreateSelect(kept, counts[last], counts[last - 1]);
      order[last - 1] = e_.builder().CreateSelect(kept, counts[last - 1], counts[last]);
    }
    for (size_t i = loop.parts.size(); i-- > 0;) {
      indices[i] = i == 0 ? item : Emitter::is(order[i], 1) ? e_.integer(0) : e_.mod(item, order[i]);
      item = e_.div(item, order[i]);
    }
    if (kept != nullptr) {
      Value *fast = indices[last], *slow = indices[last - 1];
      indices[last] = e_.builder().CreateSelect(kept, fast, slow);
      indices[last - 1] = e_.builder().CreateSelect(kept, slow, fast);
    }
    for (size_t i = 0; i < loop.parts.size(); ++i) {
      const LoopPart& part = loop.parts[i];
      Value* step = e_.chunk(part.step, nest_.axes()[part.axis].extent);
      Value* index = Emitter::is(counts[i], 1) ? e_.integer(0) : indices[i];
      enter(part, axes_[part.axis].inside, e_.mul(index, step));
    }
    stages(loop);
    loops_from(place + 1);
    axes_ = saved;
  });
}

void NestWalker::serial(size_t place) {
  const Loop& loop = nest_.loops()[place];
  const LoopPart& part = loop.parts.front();
  const std::vector<AxisState> saved = axes_;
  Value* step = e_.chunk(part.step, nest_.axes()[part.axis].extent);
  const AxisState state = axes_[part.axis];
  e_.loop(e_.integer(0), state.left, step, [&](Value* at) {
    enter(part, state.inside, at);
    stages(loop);
    loops_from(place + 1);
    axes_ = saved;
  });
}

// One body for both orders: the two loops count iterations, and which of them drives which axis is selected.
void NestWalker::exchanged(size_t place) {
  const Loop &first = nest_.loops()[place], &second = nest_.loops()[place + 1];
  const LoopPart &a = first.parts.front(), &b = second.parts.front();
  const std::vector<AxisState> saved = axes_;
  const AxisState state_a = axes_[a.axis], state_b = axes_[b.axis];
  Value *step_a = e_.chunk(a.step, nest_.axes()[a.axis].extent),
        *step_b = e_.chunk(b.step, nest_.axes()[b.axis].extent);
  Value* kept = e_.equal(e_.amount(*first.exchanged_by), 0);
  Value* end_outer = e_.builder().CreateSelect(kept, state_a.left, state_b.left);
  Value* end_inner = e_.builder().CreateSelect(kept, state_b.left, state_a.left);
  Value* step_outer = e_.builder().CreateSelect(kept, step_a, step_b);
  Value* step_inner = e_.builder().CreateSelect(kept, step_b, step_a);
  e_.loop(e_.integer(0), end_outer, step_outer, [&](Value* outer) {
    e_.loop(e_.integer(0), end_inner, step_inner, [&](Value* inner) {
      enter(a, state_a.inside, e_.builder().CreateSelect(kept, outer, inner));
      enter(b, state_b.inside, e_.builder().CreateSelect(kept, inner, outer));
      stages(first);
      stages(second);
      loops_from(place + 2);
      axes_ = saved;
    });
  });
}

}  // namespace temper
