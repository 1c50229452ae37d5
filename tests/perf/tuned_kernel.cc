#include "tests/perf/tuned_kernel.h"

#include <chrono>
#include <cstdlib>

#include "runtime/plan.h"
#include "schedules/spaces.h"
#include "temper/port_linux.h"

namespace temper::perf {

struct KernelBench::State {
  std::vector<Workload> workloads;
  std::vector<uint8_t> pack_data;
  PackView pack;
  temper_facts facts{};
  std::vector<int32_t> values;
  std::vector<Interval> intervals;
  std::vector<Space> spaces;
  Target target;
  std::optional<KernelLoader> loader;
  temper_linux_threads* threads = nullptr;
  temper_port port{};
  double build_seconds = 0;
  int built = 0;
};

namespace {

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<void, FreeDeleter>;

AlignedBytes allocate(size_t bytes) { return AlignedBytes(std::aligned_alloc(64, (bytes + 64) / 64 * 64)); }

struct Execution {
  temper_plan plan;
  AlignedBytes packed, workspace;
  Tensor out;
  void* tensors[TEMPER_TENSOR_COUNT] = {};
};

}  // namespace

KernelBench::KernelBench(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelBench::~KernelBench() { temper_linux_threads_destroy(state_->threads); }

Result<std::unique_ptr<KernelBench>> KernelBench::create(const Network& network, int threads) {
  auto state = std::make_unique<State>();
  PackOptions options;
  options.digests = false;
  auto data = write_pack(network.workloads, options);
  if (!data) {
    return data.error();
  }
  state->pack_data = std::move(*data);
  const temper_pack pack{state->pack_data.data(), state->pack_data.size(), nullptr, 0};
  const char* reason = nullptr;
  if (const Status status = PackView::open(pack, &state->pack, &reason); !status.ok()) {
    return Error{status.code(), std::string("the network's pack: ") + reason};
  }
  if (temper_linux_probe(&state->facts) != TEMPER_OK ||
      temper_linux_threads_create(static_cast<uint32_t>(threads), &state->threads) != TEMPER_OK) {
    return Error{TEMPER_PORT_ERROR, "this machine's facts or threads are not to be had"};
  }
  state->facts.value[TEMPER_FACT_THREADS] = threads;
  state->port = temper_linux_port(state->threads, nullptr);
  state->values.resize(state->pack.scratch_values());
  state->intervals.resize(state->pack.scratch_intervals());
  for (uint32_t i = 0; i < network.workloads.size(); i++) {
    state->workloads.push_back(network.workloads[i].workload);
    state->spaces.emplace_back(&state->pack, i, &state->facts, Scratch{state->values.data(), state->intervals.data()});
  }
  state->target = native_target();
  auto loader = KernelLoader::create();
  if (!loader) {
    return loader.error();
  }
  state->loader.emplace(std::move(*loader));
  return std::unique_ptr<KernelBench>(new KernelBench(std::move(state)));
}

Config KernelBench::default_config(uint32_t workload) const {
  Config config;
  (void)state_->spaces[workload].default_config(&config).ok();
  return config;
}

std::optional<Config> KernelBench::table_config(uint32_t workload, const TableView& table) const {
  const Space& space = state_->spaces[workload];
  TableEntryView entry;
  Config config;
  if (!table.find(space.workload().key, &entry).ok() || !config_from_knobs(space, entry.knobs, &config).ok() ||
      !space.legal(config)) {
    return std::nullopt;
  }
  return config;
}

std::optional<Config> KernelBench::config_of(uint32_t workload, const int32_t* values) const {
  const Space& space = state_->spaces[workload];
  Config config;
  for (uint32_t k = 0; k < space.knob_count(); k++) {
    if (!space.choose(k, static_cast<uint16_t>(values[k]), &config).ok()) {
      return std::nullopt;
    }
  }
  return space.legal(config) ? std::optional(config) : std::nullopt;
}

std::vector<int32_t> KernelBench::values_of(uint32_t workload, const Config& config) const {
  const Space& space = state_->spaces[workload];
  std::vector<int32_t> values(TEMPER_MAX_KNOBS);
  space.values_of(config, values.data());
  values.resize(space.knob_count());
  return values;
}

const temper_facts& KernelBench::facts() const { return state_->facts; }

const temper_port& KernelBench::port() const { return state_->port; }

Result<Contender> KernelBench::contender(uint32_t workload, const std::string& name, const Config& config,
                                         const WorkloadData& data, KernelMode mode) {
  const Space& space = state_->spaces[workload];
  int32_t knobs[TEMPER_MAX_KNOBS];
  space.values_of(config, knobs);
  const Span<const int32_t> dims = space.workload().dims;
  const KernelRequest request{static_cast<TemplateId>(space.view().id),
                              mode,
                              {dims.begin(), dims.end()},
                              {knobs, knobs + space.knob_count()},
                              "kernel"};
  const auto begin = std::chrono::steady_clock::now();
  auto object = compile_kernels(state_->target, {request});
  if (!object) {
    return object.error();
  }
  uint32_t handle = 0;
  auto kernel = state_->loader->load(object->bytes, "kernel", &handle);
  if (!kernel) {
    return kernel.error();
  }
  state_->build_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  state_->built++;
  return contender_of(workload, name, config, data, *kernel);
}

Result<Contender> KernelBench::contender_of(uint32_t workload, const std::string& name, const Config& config,
                                            const WorkloadData& data, temper_kernel kernel) {
  const Space& space = state_->spaces[workload];
  auto execution = std::make_shared<Execution>();
  if (const Status status = make_plan(space, config, kernel, &execution->plan); !status.ok()) {
    return Error{status.code(), "the config's plan is refused"};
  }
  execution->out.resize(data.tensor[TEMPER_OUT].size());
  for (int t = 0; t < TEMPER_TENSOR_COUNT; t++) {
    execution->tensors[t] = data.tensor[t].empty() ? nullptr : const_cast<float*>(data.tensor[t].data());
  }
  execution->tensors[TEMPER_OUT] = execution->out.data();
  const temper_plan& plan = execution->plan;
  if (plan.packed_tensor != TEMPER_TENSOR_COUNT) {
    execution->packed = allocate(plan.packed_bytes);
    const float* plain = data.tensor[plan.packed_tensor].data();
    if (temper_pack_constant(&plan, plain, execution->packed.get(), plan.packed_bytes) != TEMPER_OK) {
      return Error{TEMPER_BAD_DATA, "packing the constant failed"};
    }
    execution->tensors[plan.packed_tensor] = execution->packed.get();
  }
  const size_t workspace_bytes = static_cast<size_t>(plan.threads) * plan.workspace_bytes;
  execution->workspace = allocate(workspace_bytes);
  const temper_port* port = &state_->port;
  Contender contender{name,
                      [execution, port, workspace_bytes] {
                        temper_execute(&execution->plan, port, execution->tensors, execution->workspace.get(),
                                       workspace_bytes);
                      },
                      execution, &execution->out};
  return contender;
}

std::string KernelBench::describe(uint32_t workload, const Config& config) const {
  const Space& space = state_->spaces[workload];
  std::string text;
  for (uint32_t k = 0; k < space.knob_count(); k++) {
    text += k == 0 ? "" : " ";
    text += space.view().knob(k).name;
    text += '=';
    text += std::to_string(space.value(k, config.choice[k]));
  }
  return text;
}

double KernelBench::build_ms() const { return state_->built == 0 ? 0.0 : state_->build_seconds * 1e3 / state_->built; }

}  // namespace temper::perf
