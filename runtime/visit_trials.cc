// temper_visit_trials: linked where it is called.
#include "runtime/api_context.h"

namespace temper {
namespace {

struct Visit {
  temper_context* context;
  temper_trial* trial;
  void* self;
  void (*visit)(void* self, const temper_trial* trial);
};

const char* name_of_knob(const TemplateView& view, uint16_t id) {
  for (uint32_t k = 0; k < view.knob_count; ++k) {
    const Knob knob = view.knob(k);
    if (knob.id == id) {
      return knob.name;
    }
  }
  return nullptr;
}

void on_trial_frame(void* self, const FrameView& frame) {
  Visit& visit = *static_cast<Visit*>(self);
  const PackView& pack = visit.context->pack;
  TrialView view;
  if (!read_trial(frame, &view).ok() || !visit.context->lookup.same_device(view.trial.fingerprint())) {
    return;
  }
  temper_trial& trial = *visit.trial;
  trial.workload = pack.find_workload(view.trial.workload());
  if (trial.workload == pack.workload_count()) {
    return;
  }
  const TemplateView current = pack.get_template(pack.workload(trial.workload).template_index);
  trial.outcome = static_cast<temper_outcome>(view.trial.outcome());
  trial.is_default = view.trial.is_default() != 0;
  trial.median_ns = view.trial.median_ns();
  trial.knob_count = static_cast<uint8_t>(view.knobs.size);
  for (uint32_t k = 0; k < view.knobs.size; ++k) {
    trial.knob_id[k] = view.knobs[k].id();
    trial.value[k] = view.knobs[k].value();
    trial.knob_name[k] = view.trial.template_id() == current.id ? name_of_knob(current, trial.knob_id[k]) : nullptr;
  }
  visit.visit(visit.self, &trial);
}

}  // namespace
}  // namespace temper

temper_status temper_visit_trials(temper_context* t, temper_trial* memory, void* self,
                                  void (*visit)(void* self, const temper_trial* trial)) {
  if (t == nullptr || memory == nullptr || visit == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  if (t->config->port->storage == nullptr) {
    return TEMPER_NOT_FOUND;
  }
  temper::Visit all{t, memory, self, visit};
  return t->history.rescan(&all, temper::on_trial_frame).code();
}
