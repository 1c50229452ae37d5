#include "codegen/worker_setup.h"

#include <cstring>

#include "codegen/worker_protocol.h"

namespace temper {

std::vector<uint8_t> setup_payload(const temper_facts& facts, const void* pack, size_t pack_bytes) {
  std::vector<uint8_t> payload(kSetupFactsBytes + pack_bytes);
  std::memcpy(payload.data(), &facts, sizeof facts);
  std::memcpy(payload.data() + kSetupFactsBytes, pack, pack_bytes);
  return payload;
}

Result<std::unique_ptr<WorkerSetup>> WorkerSetup::create(const std::vector<uint8_t>& payload) {
  if (payload.size() <= kSetupFactsBytes) {
    return Error{TEMPER_BAD_DATA, "worker set-up: no pack"};
  }
  const size_t bytes = payload.size() - kSetupFactsBytes;
  std::unique_ptr<WorkerSetup> setup(new WorkerSetup);
  std::memcpy(&setup->facts_, payload.data(), sizeof setup->facts_);
  setup->pack_bytes_.resize((bytes + 7) / 8);
  std::memcpy(setup->pack_bytes_.data(), payload.data() + kSetupFactsBytes, bytes);
  const temper_pack pack{setup->pack_bytes_.data(), bytes, nullptr, 0};
  const char* reason = "";
  const Status opened = PackView::open(pack, &setup->pack_, &reason);
  if (!opened.ok()) {
    return Error{opened.code(), std::string("worker set-up: ") + reason};
  }
  setup->values_.resize(setup->pack_.scratch_values());
  setup->intervals_.resize(setup->pack_.scratch_intervals());
  return setup;
}

Space WorkerSetup::space(uint32_t workload) const {
  return Space(&pack_, workload, &facts_, Scratch{values_.data(), intervals_.data()});
}

bool WorkerSetup::in_range(uint32_t workload, const Config& config) const {
  if (workload >= pack_.workload_count()) {
    return false;
  }
  const Space of_workload = space(workload);
  for (uint32_t knob = 0; knob < of_workload.knob_count(); ++knob) {
    if (config.choice[knob] >= of_workload.choice_count(knob)) {
      return false;
    }
  }
  return true;
}

Result<KernelRequest> WorkerSetup::kernel_request(uint32_t workload, const Config& config,
                                                  const std::string& symbol) const {
  if (!in_range(workload, config)) {
    return Error{TEMPER_INVALID_ARGUMENT, "no such workload or config"};
  }
  const Space of_workload = space(workload);
  KernelRequest request;
  request.template_id = static_cast<TemplateId>(of_workload.view().id);
  request.mode = KernelMode::kBaked;
  const Span<const int32_t> dims = of_workload.workload().dims;
  request.dims.assign(dims.begin(), dims.end());
  int32_t values[TEMPER_MAX_KNOBS];
  of_workload.values_of(config, values);
  request.knobs.assign(values, values + of_workload.knob_count());
  request.symbol = symbol;
  return request;
}

}  // namespace temper
