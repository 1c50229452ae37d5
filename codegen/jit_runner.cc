#include "codegen/jit_runner.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "codegen/worker_setup.h"

namespace temper {
namespace {

/// Processes that die this often in a row before they said a word cannot work here (missing library, wrong program).
constexpr uint32_t kSilentDeaths = 3;
constexpr uint64_t kNever = ~uint64_t{0};

uint64_t steady_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

}  // namespace

JitRunner::JitRunner(std::vector<uint8_t> setup, std::vector<std::string> workloads, const JitRunnerOptions& options)
    : options_(options),
      setup_(std::move(setup)),
      workloads_(std::move(workloads)),
      digests_(workloads_.size()),
      cache_(options.cached_object_bytes) {}

JitRunner::~JitRunner() = default;

Result<std::unique_ptr<JitRunner>> JitRunner::create(const temper_pack& pack, const temper_facts& facts,
                                                     std::vector<std::string> workloads,
                                                     const JitRunnerOptions& options) {
  PackView view;
  const char* reason = "";
  const Status opened = PackView::open(pack, &view, &reason);
  if (!opened.ok()) {
    return Error{opened.code(), std::string("runner: the pack does not verify: ") + reason};
  }
  if (view.workload_count() != workloads.size()) {
    return Error{TEMPER_INVALID_ARGUMENT, "runner: one text is needed for each workload of the pack"};
  }
  std::unique_ptr<JitRunner> made(
      new JitRunner(setup_payload(facts, pack.data, pack.data_bytes), std::move(workloads), options));
  for (uint32_t workload = 0; workload < view.workload_count(); ++workload) {
    made->digests_.set_known(workload, view.workload(workload).digest);
  }
  for (uint32_t i = 0; i < std::max(1u, options.builders); ++i) {
    made->builders_.push_back(std::make_unique<Builder>());
    made->start_process(&made->builders_.back()->process, WorkerRole::kBuilder, 0);
  }
  made->start_process(&made->timer_, WorkerRole::kTimer, 0);
  if (!made->broken_reason_.empty()) {
    return Error{TEMPER_PORT_ERROR, made->broken_reason_};
  }
  return made;
}

Runner JitRunner::runner() {
  Runner table{};
  table.self = this;
  table.slot_count = kMaxSlots;
  table.build = [](void* self, uint8_t slot, uint32_t workload, const Config& config) {
    return static_cast<JitRunner*>(self)->build(slot, workload, config);
  };
  table.poll_build = [](void* self, uint8_t slot, temper_outcome* outcome, uint32_t* build_us) {
    return static_cast<JitRunner*>(self)->poll_build(slot, outcome, build_us);
  };
  table.run = [](void* self, uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns) {
    return static_cast<JitRunner*>(self)->run(slot, kind, number, limit_ns);
  };
  table.poll_run = [](void* self, RunResult* result) { return static_cast<JitRunner*>(self)->poll_run(result); };
  table.release = [](void* self, uint8_t slot) { static_cast<JitRunner*>(self)->release(slot); };
  table.wait = [](void* self, uint64_t limit_ns) { static_cast<JitRunner*>(self)->wait(limit_ns); };
  return table;
}

Status JitRunner::build(uint8_t index, uint32_t workload, const Config& config) {
  if (index >= slots_.size() || slots_[index].phase != SlotPhase::kFree || workload >= workloads_.size()) {
    return TEMPER_INVALID_ARGUMENT;
  }
  if (!broken_reason_.empty()) {
    return TEMPER_PORT_ERROR;
  }
  Slot& slot = slots_[index];
  slot = Slot();
  slot.workload = workload;
  slot.config = config;
  slot.ticket = next_ticket_++;
  digests_.want(workload);
  if (const CachedObject* cached = cache_.find(workload, config)) {
    ++costs_.builds_from_cache;
    finish_build(index, TEMPER_OUTCOME_OK, cached->build_us, cached->object);
    return {};
  }
  slot.phase = SlotPhase::kQueued;
  digests_ahead_ = std::max(digests_ahead_, workload + 2);
  step();
  return {};
}

bool JitRunner::poll_build(uint8_t index, temper_outcome* outcome, uint32_t* build_us) {
  step();
  const Slot& slot = slots_[index];
  // The tuner has one run in flight: a check that waits for its digest would hold up everybody, so a build that is
  // ahead of it waits.
  if (slot.phase != SlotPhase::kDone || (slot.outcome == TEMPER_OUTCOME_OK && digests_.pending(slot.workload))) {
    return false;
  }
  *outcome = slot.outcome;
  *build_us = slot.build_us;
  return true;
}

Status JitRunner::run(uint8_t index, RunKind kind, uint32_t number, uint64_t limit_ns) {
  const bool ready =
      index < slots_.size() && slots_[index].phase == SlotPhase::kDone && slots_[index].outcome == TEMPER_OUTCOME_OK;
  if (!ready || run_.phase != RunPhase::kNone) {
    return TEMPER_INVALID_ARGUMENT;
  }
  if (!broken_reason_.empty()) {
    return TEMPER_PORT_ERROR;
  }
  run_ = Run();
  run_.phase = RunPhase::kWaitsForDigest;
  run_.slot = index;
  run_.kind = kind;
  run_.number = number;
  run_.limit_ns = limit_ns;
  run_.ticket = next_ticket_++;
  run_.requested_ns = steady_ns();
  step();
  return {};
}

bool JitRunner::poll_run(RunResult* result) {
  step();
  if (run_.phase != RunPhase::kDone) {
    return false;
  }
  *result = run_.result;
  run_.phase = RunPhase::kNone;
  return true;
}

void JitRunner::release(uint8_t index) {
  if (index >= slots_.size() || slots_[index].phase == SlotPhase::kFree) {
    return;
  }
  if (run_.phase != RunPhase::kNone && run_.slot == index) {
    const bool in_timer = run_.phase == RunPhase::kPreparing || run_.phase == RunPhase::kRunning;
    run_ = Run();
    if (in_timer) {
      restart_timer();
    }
  }
  if (slots_[index].loaded && timer_.running()) {
    Message message;
    message.type = MessageType::kUnload;
    message.slot = index;
    timer_.send(message);
  }
  // A build that is on its way goes on; its ticket no longer matches, so that its object only enters the cache.
  slots_[index] = Slot();
  step();
}

void JitRunner::wait(uint64_t limit_ns) {
  const uint64_t until = steady_ns() + std::min(limit_ns, uint64_t{3'600'000'000'000});
  for (;;) {
    step();
    const uint64_t now = steady_ns();
    if (something_changed_ || now >= until || !broken_reason_.empty()) {
      something_changed_ = false;
      return;
    }
    std::vector<pollfd> watched;
    const auto watch = [&watched](const WorkerProcess& process) {
      if (process.running()) {
        watched.push_back({process.fd(), static_cast<short>(POLLIN | (process.wants_to_write() ? POLLOUT : 0)), 0});
      }
    };
    for (const auto& builder : builders_) {
      watch(builder->process);
    }
    watch(timer_);
    const uint64_t wake = std::min(until, nearest_deadline_ns());
    const uint64_t sleep_ns = wake > now ? wake - now : 0;
    const timespec timeout{static_cast<time_t>(sleep_ns / 1'000'000'000), static_cast<long>(sleep_ns % 1'000'000'000)};
    if (::ppoll(watched.data(), watched.size(), &timeout, nullptr) < 0) {
      return;  // a signal: the caller decides
    }
  }
}

std::vector<pid_t> JitRunner::worker_pids() const {
  std::vector<pid_t> pids = {timer_.pid()};
  for (const auto& builder : builders_) {
    pids.push_back(builder->process.pid());
  }
  return pids;
}

void JitRunner::step() {
  if (!broken_reason_.empty()) {
    return;
  }
  for (const auto& builder : builders_) {
    read_builder(builder.get());
  }
  read_timer();
  enforce_deadlines();
  assign_jobs();
  send_run();
  for (const auto& builder : builders_) {
    if (builder->process.wants_to_write()) {
      static_cast<void>(builder->process.pump());
    }
  }
  if (timer_.wants_to_write()) {
    static_cast<void>(timer_.pump());
  }
}

void JitRunner::read_builder(Builder* builder) {
  const bool alive = builder->process.pump();
  Message message;
  std::vector<uint8_t> payload;
  Status status;
  while (builder->process.receive(&message, &payload, &status)) {
    take_answer(builder, message, std::move(payload));
  }
  if ((alive && status.ok()) || !builder->process.running()) {
    return;
  }
  give_up_job(builder, TEMPER_OUTCOME_BUILD_ERROR);
  restart(builder);
}

void JitRunner::take_answer(Builder* builder, const Message& message, std::vector<uint8_t> payload) {
  builder->ready = true;
  builder->silent_deaths = 0;
  if (message.type == MessageType::kBuilt && builder->job == Job::kBuild && message.ticket == builder->ticket) {
    const auto outcome = static_cast<temper_outcome>(message.outcome);
    ObjectBytes object;
    if (outcome == TEMPER_OUTCOME_OK) {
      object = std::make_shared<const std::vector<uint8_t>>(std::move(payload));
      cache_.add(CachedObject{builder->workload, builder->config, message.number, object});
    } else {
      last_build_error_.assign(payload.begin(), payload.end());
    }
    ++costs_.builds;
    costs_.build_ns += uint64_t{message.number} * 1000;
    builder->job = Job::kNone;
    if (slots_[builder->slot].ticket == message.ticket) {
      finish_build(builder->slot, outcome, message.number, std::move(object));
    }
  } else if (message.type == MessageType::kDigested && builder->job == Job::kDigest &&
             message.ticket == builder->ticket) {
    ++costs_.digests;
    costs_.digest_ns += steady_ns() - builder->since_ns;
    digests_.finish(builder->workload,
                    message.outcome == TEMPER_OUTCOME_OK ? std::optional<uint32_t>(message.number) : std::nullopt);
    builder->job = Job::kNone;
    something_changed_ = true;
  }
}

/// The builder died or was too slow: its job ends with `outcome`.
void JitRunner::give_up_job(Builder* builder, temper_outcome outcome) {
  if (builder->job == Job::kBuild && slots_[builder->slot].ticket == builder->ticket) {
    const uint64_t spent_ns = steady_ns() - builder->since_ns;
    last_build_error_ = outcome == TEMPER_OUTCOME_TIMEOUT ? "the compiler did not end in time" : "the compiler crashed";
    finish_build(builder->slot, outcome, static_cast<uint32_t>(spent_ns / 1000), nullptr);
  } else if (builder->job == Job::kDigest) {
    digests_.give_up(builder->workload);
    something_changed_ = true;
  }
  builder->job = Job::kNone;
}

void JitRunner::finish_build(uint8_t index, temper_outcome outcome, uint32_t build_us, ObjectBytes object) {
  Slot& slot = slots_[index];
  slot.phase = SlotPhase::kDone;
  slot.outcome = outcome;
  slot.build_us = build_us;
  slot.object = std::move(object);
  something_changed_ = true;
}

void JitRunner::read_timer() {
  const bool alive = timer_.pump();
  Message message;
  std::vector<uint8_t> payload;
  Status status;
  bool tainted = false;
  while (timer_.receive(&message, &payload, &status)) {
    timer_ready_ = true;
    timer_silent_deaths_ = 0;
    tainted = tainted || (message.type == MessageType::kRan && message.number != 0);
    take_timer_answer(message);
  }
  if (alive && status.ok() && !tainted) {
    return;
  }
  if (timer_.running()) {
    if (run_.phase == RunPhase::kPreparing || run_.phase == RunPhase::kRunning) {
      finish_run(TEMPER_OUTCOME_CRASHED, 0);
    }
    restart_timer();
  }
}

void JitRunner::take_timer_answer(const Message& message) {
  const bool running = run_.phase == RunPhase::kPreparing || run_.phase == RunPhase::kRunning;
  if (!running || message.ticket != run_.ticket) {
    return;
  }
  if (message.type == MessageType::kStarted) {
    slots_[run_.slot].prepared = true;
    timed_workload_ = slots_[run_.slot].workload;
    begin_running();
  } else if (message.type == MessageType::kRan) {
    const auto outcome = static_cast<temper_outcome>(message.outcome);
    const bool late = outcome == TEMPER_OUTCOME_OK && message.elapsed_ns > run_.limit_ns;
    finish_run(late ? TEMPER_OUTCOME_TIMEOUT : outcome, message.elapsed_ns);
  }
}

/// The time that the candidate has starts here.
void JitRunner::begin_running() {
  const uint64_t now = steady_ns();
  run_.phase = RunPhase::kRunning;
  run_.deadline_ns =
      run_.limit_ns > kNever - now - options_.grace_ns ? kNever : now + run_.limit_ns + options_.grace_ns;
}

void JitRunner::finish_run(temper_outcome outcome, uint64_t elapsed_ns) {
  const uint64_t spent_ns = steady_ns() - run_.requested_ns;
  if (run_.kind == RunKind::kCheck) {
    ++costs_.checks;
    costs_.check_ns += spent_ns;
  } else {
    ++costs_.timings;
    costs_.timing_ns += spent_ns;
    costs_.kernel_ns += elapsed_ns;
  }
  run_.phase = RunPhase::kDone;
  run_.result = RunResult{outcome, elapsed_ns};
  something_changed_ = true;
}

void JitRunner::enforce_deadlines() {
  const uint64_t now = steady_ns();
  for (const auto& builder : builders_) {
    if (builder->job != Job::kNone && now > builder->deadline_ns) {
      give_up_job(builder.get(), TEMPER_OUTCOME_TIMEOUT);
      restart(builder.get());
    }
  }
  if ((run_.phase == RunPhase::kPreparing || run_.phase == RunPhase::kRunning) && now > run_.deadline_ns) {
    finish_run(TEMPER_OUTCOME_TIMEOUT, 0);
    restart_timer();
  }
}

uint64_t JitRunner::nearest_deadline_ns() const {
  uint64_t nearest = kNever;
  for (const auto& builder : builders_) {
    if (builder->job != Job::kNone) {
      nearest = std::min(nearest, builder->deadline_ns);
    }
  }
  if (run_.phase == RunPhase::kPreparing || run_.phase == RunPhase::kRunning) {
    nearest = std::min(nearest, run_.deadline_ns);
  }
  return nearest;
}

void JitRunner::assign_jobs() {
  for (const auto& builder : builders_) {
    if (builder->job == Job::kNone && builder->process.running()) {
      assign_job(builder.get());
    }
  }
}

/// Digests that a finished build waits for come first, then builds, then digests that will be needed, then those that
/// may be.
void JitRunner::assign_job(Builder* builder) {
  if (assign_awaited_digest(builder) || assign_build(builder)) {
    return;
  }
  if (const std::optional<uint32_t> workload = digests_.start_any(digests_ahead_)) {
    send_digest(builder, *workload);
  }
}

bool JitRunner::assign_awaited_digest(Builder* builder) {
  for (const Slot& slot : slots_) {
    if (slot.phase == SlotPhase::kDone && slot.outcome == TEMPER_OUTCOME_OK && digests_.start_wanted(slot.workload)) {
      send_digest(builder, slot.workload);
      return true;
    }
  }
  return false;
}

bool JitRunner::assign_build(Builder* builder) {
  int oldest = -1;
  for (int i = 0; i < static_cast<int>(slots_.size()); ++i) {
    if (slots_[i].phase == SlotPhase::kQueued && (oldest < 0 || slots_[i].ticket < slots_[oldest].ticket)) {
      oldest = i;
    }
  }
  if (oldest < 0) {
    return false;
  }
  Slot& slot = slots_[oldest];
  slot.phase = SlotPhase::kBuilding;
  builder->job = Job::kBuild;
  builder->slot = static_cast<uint8_t>(oldest);
  builder->workload = slot.workload;
  builder->config = slot.config;
  builder->ticket = slot.ticket;
  builder->since_ns = steady_ns();
  builder->deadline_ns = builder->since_ns + options_.build_limit_ns;
  Message message;
  message.type = MessageType::kBuild;
  message.slot = builder->slot;
  message.workload = slot.workload;
  message.config = slot.config;
  message.ticket = slot.ticket;
  builder->process.send(message);
  return true;
}

void JitRunner::send_digest(Builder* builder, uint32_t workload) {
  builder->job = Job::kDigest;
  builder->workload = workload;
  builder->ticket = next_ticket_++;
  builder->since_ns = steady_ns();
  builder->deadline_ns = builder->since_ns + options_.digest_limit_ns;
  Message message;
  message.type = MessageType::kDigest;
  message.workload = workload;
  message.ticket = builder->ticket;
  builder->process.send(message, workloads_[workload].data(), workloads_[workload].size());
}

/// Sends the run that was asked for once its digest is known.
void JitRunner::send_run() {
  if (run_.phase != RunPhase::kWaitsForDigest || !timer_.running()) {
    return;
  }
  Slot& slot = slots_[run_.slot];
  if (run_.kind == RunKind::kCheck) {
    if (digests_.failed(slot.workload)) {
      last_build_error_ = "the reference of " + workloads_[slot.workload] + " could not be computed";
      finish_run(TEMPER_OUTCOME_BUILD_ERROR, 0);
      return;
    }
    if (!digests_.known(slot.workload)) {
      return;
    }
  }
  const uint64_t now = steady_ns();
  run_.requested_ns = now;
  Message message;
  message.slot = run_.slot;
  message.workload = slot.workload;
  message.config = slot.config;
  if (!slot.loaded) {
    message.type = MessageType::kLoad;
    timer_.send(message, slot.object->data(), slot.object->size());
    slot.loaded = true;
  }
  message.type = MessageType::kRun;
  message.kind = static_cast<uint8_t>(run_.kind);
  message.number = run_.kind == RunKind::kCheck ? digests_.value(slot.workload) : run_.number;
  message.ticket = run_.ticket;
  // A message less for each sample: it would wake this process on the cores that are to be timed.
  const bool in_place = slot.prepared && timed_workload_ == slot.workload;
  message.announce = in_place ? 0 : 1;
  timer_.send(message);
  run_.phase = RunPhase::kPreparing;
  run_.deadline_ns = now + options_.prepare_limit_ns;
  if (in_place) {
    begin_running();
  }
}

void JitRunner::restart(Builder* builder) {
  ++costs_.builder_restarts;
  builder->silent_deaths += builder->ready ? 0 : 1;
  builder->ready = false;
  start_process(&builder->process, WorkerRole::kBuilder, builder->silent_deaths);
}

void JitRunner::restart_timer() {
  ++costs_.timer_restarts;
  timer_silent_deaths_ += timer_ready_ ? 0 : 1;
  timer_ready_ = false;
  for (Slot& slot : slots_) {
    slot.loaded = slot.prepared = false;
  }
  start_process(&timer_, WorkerRole::kTimer, timer_silent_deaths_);
}

void JitRunner::start_process(WorkerProcess* process, WorkerRole role, uint32_t silent_deaths) {
  process->stop();
  if (silent_deaths >= kSilentDeaths) {
    break_down("the worker " + options_.command.path + " ends as soon as it starts: run it by hand to see why");
    return;
  }
  const Result<bool> started = process->start(options_.command);
  if (!started) {
    break_down(started.error().message);
    return;
  }
  if (role == WorkerRole::kBuilder && options_.builder_niceness != 0) {
    process->set_niceness(options_.builder_niceness);
  }
  Message message;
  message.type = MessageType::kSetup;
  message.kind = static_cast<uint8_t>(role);
  process->send(message, setup_.data(), setup_.size());
}

/// Ends everything in flight, so that nobody waits for an answer that cannot come.
void JitRunner::break_down(const std::string& reason) {
  broken_reason_ = reason;
  for (uint8_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].phase == SlotPhase::kQueued || slots_[i].phase == SlotPhase::kBuilding) {
      finish_build(i, TEMPER_OUTCOME_BUILD_ERROR, 0, nullptr);
    }
  }
  if (run_.phase != RunPhase::kNone && run_.phase != RunPhase::kDone) {
    finish_run(TEMPER_OUTCOME_CRASHED, 0);
  }
}

}  // namespace temper
