// The loaders of the device core: see loaders.h.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/lookup.h"
#include "runtime/plan.h"
#include "runtime/table_view.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/first_boot.h"
#include "tests/fuzz/loaders.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/samples.h"
#include "tests/runtime/ram_storage.h"
#include "tests/runtime/scanned_history.h"

namespace temper::test {
namespace {

constexpr uint32_t kMostRead = 64;  // of what a file may hold any number of

/// Ends where the input ends, so that a sanitizer sees the first byte read past it; aligned to 16 bytes, as malloc
/// does.
class ExactCopy {
 public:
  ExactCopy(const uint8_t* data, size_t size) : at_(std::make_unique<uint8_t[]>(size)), size_(size) {
    if (size != 0) {
      std::memcpy(at_.get(), data, size);
    }
  }
  const uint8_t* data() const { return at_.get(); }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<uint8_t[]> at_;
  size_t size_;
};

bool same_payload(const ScannedFrame& frame, const Bytes& bytes, FramePlace place) {
  const uint8_t* const at = bytes.data() + place.offset;
  uint32_t sequence;
  std::memcpy(&sequence, at + 4, sizeof sequence);
  return at[1] == static_cast<uint8_t>(frame.type) && sequence == frame.sequence &&
         frame.payload.size() + sizeof(FrameHeader) == place.bytes &&
         std::equal(frame.payload.begin(), frame.payload.end(), at + sizeof(FrameHeader));
}

/// Nothing that was not written, and in order.
void demand_truth(const std::vector<ScannedFrame>& shown, const Bytes& bytes, uint32_t unit) {
  const std::vector<FramePlace> written = frames_in(bytes, unit);
  auto place = written.begin();
  for (const ScannedFrame& frame : shown) {
    place = std::find_if(place, written.end(), [&](FramePlace p) { return same_payload(frame, bytes, p); });
    demand(place != written.end(), "every frame that a history shows was written");
    ++place;
  }
}

void read_frame(const ScannedFrame& scanned) {
  const FrameView frame{scanned.type, scanned.sequence, {scanned.payload.data(), scanned.payload.size()}};
  TrialView trial{};
  CommitView commit{};
  IntentView intent{};
  WorkloadNameView name{};
  Fingerprint fingerprint{};
  if (read_trial(frame, &trial).ok()) {
    demand(trial.trial.outcome() < TEMPER_OUTCOME_COUNT && trial.knobs.size <= TEMPER_MAX_KNOBS, "a trial is in range");
  }
  demand(!read_commit(frame, &commit).ok() || commit.knobs.size <= TEMPER_MAX_KNOBS, "a commit is in range");
  demand(!read_intent(frame, &intent).ok() || intent.knobs.size <= TEMPER_MAX_KNOBS, "an intent is in range");
  if (read_workload(frame, &name).ok()) {
    demand(std::string(name.name, name.head.name_bytes()).size() <= kMaxPayload, "a name lies in its frame");
  }
  (void)read_fingerprint(frame, &fingerprint);
}

/// On flash, units that read as erased were never programmed: between two regions, or behind the last frame.
void store(const Bytes& bytes, const Geometry& geometry, RamStorage* storage) {
  const size_t kept = std::min<size_t>(bytes.size(), geometry.size_bytes);
  if (geometry.erase_bytes == 0) {
    storage->set_bytes({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(kept)});
    return;
  }
  const uint32_t unit = geometry.program_bytes;
  for (uint32_t at = 0; at < kept; at += unit) {
    Bytes page(bytes.begin() + at, bytes.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(at + unit, kept)));
    page.resize(unit, 0xFF);
    if (std::any_of(page.begin(), page.end(), [](uint8_t byte) { return byte != 0xFF; })) {
      (void)storage->storage()->program(storage->storage()->self, at, page.data(), unit);
    }
  }
}

/// Shows only what was written, takes one frame more, and shows that too.
void scan_and_append(const Bytes& bytes, const Geometry& geometry) {
  RamStorage storage(geometry.size_bytes, geometry.program_bytes, geometry.erase_bytes);
  store(bytes, geometry, &storage);
  const Bytes before = storage.bytes();
  ScannedHistory scanned(storage.storage());
  demand(scanned.aligned, "payloads are aligned");
  demand_truth(scanned.frames, before, geometry.program_bytes);
  std::for_each(scanned.frames.begin(), scanned.frames.end(), read_frame);
  if (!scanned.status.ok()) {
    demand(scanned.status == TEMPER_STORAGE_FULL || storage.bytes() == before, "what is no history is left alone");
    return;
  }
  const std::vector<ScannedFrame> shown = scanned.frames;
  const Bytes payload = {7, 7};
  if (!scanned.append(FrameType::kTrial, payload).ok()) {
    return;
  }
  demand(!storage.misused(), "nothing is programmed twice");
  const Bytes& after = storage.bytes();
  const History& history = scanned.history;
  for (size_t i = 0; i < before.size(); ++i) {
    // In the region that does not count, what is left of a header is erased.
    const bool counts = i >= history.place().begin && i - history.place().begin < history.region_bytes();
    demand(after[i] == before[i] || (geometry.erase_bytes != 0 && (before[i] == 0xFF || (!counts && after[i] == 0xFF))),
           "what was written stays");
  }
  std::vector<ScannedFrame> again = ScannedHistory(storage.storage()).frames;
  demand(!again.empty() && again.back().payload == payload, "what was appended is there");
  again.pop_back();
  // What is filled up behind a torn frame of a file may happen to be what it lacked; then it is whole.
  demand(again.size() >= shown.size() && again.size() <= shown.size() + 1 &&
             std::equal(shown.begin(), shown.end(), again.begin()),
         "what was there before stays");
}

bool tells(const ScannedFrame& scanned, uint64_t key, const temper_answer& answer) {
  const FrameView frame{scanned.type, scanned.sequence, {scanned.payload.data(), scanned.payload.size()}};
  CommitView view{};
  if (!read_commit(frame, &view).ok() || view.commit.workload() != key || view.knobs.size != answer.knob_count ||
      expand_time(compact_time(view.commit.default_ns())) != answer.default_ns ||
      expand_time(compact_time(view.commit.tuned_ns())) != answer.tuned_ns) {
    return false;
  }
  return std::all_of(view.knobs.begin(), view.knobs.end(), [&](const format::KnobValue& knob) {
    return knob.id() >= 1 && knob.id() <= answer.knob_count && answer.value[knob.id() - 1] == knob.value();
  });
}

bool tells(const TableView& table, uint64_t key, const temper_answer& answer) {
  TableEntryView entry{};
  if (!table.find(key, &entry).ok() || entry.knobs.size != answer.knob_count || entry.tuned_ns != answer.tuned_ns ||
      entry.default_ns != answer.default_ns) {
    return false;
  }
  return std::all_of(entry.knobs.begin(), entry.knobs.end(), [&](const format::KnobValue& knob) {
    return knob.id() >= 1 && knob.id() <= answer.knob_count && answer.value[knob.id() - 1] == knob.value();
  });
}

/// Every answer of a booted device is executable, and the source that it names tells the same.
void demand_answers(FirstBoot* boot, const std::vector<ScannedFrame>* frames, const TableView* table) {
  for (uint32_t w = 0; w < temper_workload_count(boot->context()); ++w) {
    temper_answer answer;
    temper_plan plan;
    demand(temper_lookup(boot->context(), w, &answer) == TEMPER_OK, "a look-up answers");
    demand(temper_make_plan(boot->context(), w, &plan) == TEMPER_OK, "an answer has a plan");
    const uint64_t key = kBootKey + w;
    if (answer.source == TEMPER_SOURCE_HISTORY && frames != nullptr) {
      demand(std::any_of(frames->begin(), frames->end(), [&](const auto& frame) { return tells(frame, key, answer); }),
             "an answer from the history was committed");
    }
    const bool from_table = answer.source == TEMPER_SOURCE_TABLE || answer.source == TEMPER_SOURCE_CLASS_TABLE;
    demand(!from_table || (table != nullptr && tells(*table, key, answer)), "an answer from a table is its entry");
  }
}

/// Boots over it, looks up, tunes on for a few trials, boots once more.
void boot_and_resume(const Bytes& bytes, const Geometry& geometry) {
  RamStorage storage(geometry.size_bytes, geometry.program_bytes, geometry.erase_bytes);
  store(bytes, geometry, &storage);
  FirstBoot boot({.storage = storage.storage()});
  demand(boot.status() == TEMPER_OK, "a device boots whatever its history holds");
  const std::vector<ScannedFrame> frames = ScannedHistory(storage.storage()).frames;
  demand_answers(&boot, &frames, nullptr);
  demand(boot.start({1000000000u, 3, 0}), "a run starts whatever the history holds");
  const temper_status status = boot.run();
  demand(status == TEMPER_OK || status == TEMPER_NOTHING_TO_TUNE, "a run over a damaged history ends well");
  demand_answers(&boot, nullptr, nullptr);
  demand(!storage.misused(), "nothing is programmed twice by a run");
  FirstBoot next({.storage = storage.storage()});
  demand(next.status() == TEMPER_OK, "a device boots again");
}

}  // namespace

int fuzz_history(const uint8_t* data, size_t size) {
  const Bytes bytes(data, data + size);
  for (const Geometry& geometry : {kFileGeometry, kSmallFlashGeometry}) {
    scan_and_append(bytes, geometry);
    boot_and_resume(bytes, geometry);
  }
  return 0;
}

int fuzz_table(const uint8_t* data, size_t size) {
  const ExactCopy copy(data, size);
  const temper_table table{copy.data(), copy.size()};
  TableView view;
  const char* reason = nullptr;
  const bool opened = TableView::open(table, &view, &reason).ok();
  demand(opened || (reason != nullptr && *reason != '\0' && view.count() == 0), "a refused table says why");
  size_t characters = opened ? std::strlen(view.target()) : 0;
  TableEntryView found{};
  for (uint32_t i = 0; i < view.count(); ++i) {
    const TableEntryView entry = view.entry(i);
    characters += std::strlen(entry.name);
    demand(entry.knobs.size <= TEMPER_MAX_KNOBS, "an entry has as many knobs as there may be");
    demand(view.find(entry.workload, &found).ok() && found.name == entry.name, "an entry is found by its key");
    const bool next_is_other = i + 1 == view.count() || view.entry(i + 1).workload != entry.workload + 1;
    demand(!next_is_other || entry.workload == UINT64_MAX || !view.find(entry.workload + 1, &found).ok(),
           "what is not there is not found");
  }
  demand(characters <= size, "texts lie in the table");
  FirstBoot boot({.tables = {&table, 1}});
  demand(boot.status() == TEMPER_OK, "a device boots whatever its table holds");
  demand_answers(&boot, nullptr, opened ? &view : nullptr);
  return 0;
}

namespace {

/// Packs what the plan wants packed, out of a tensor that ends where it says.
void pack_constant(const temper_plan& plan, const uint32_t* elements) {
  constexpr uint32_t kMost = 1u << 20;
  if (plan.packed_bytes == 0 || plan.packed_bytes > kMost || elements[plan.packed_tensor] > kMost) {
    return;
  }
  const auto tensor = std::make_unique<float[]>(elements[plan.packed_tensor]);
  constexpr size_t kLine = 64;
  const auto memory = std::make_unique<uint8_t[]>(plan.packed_bytes + kLine);
  uint8_t* const packed = memory.get() + (kLine - reinterpret_cast<uintptr_t>(memory.get()) % kLine);
  demand(temper_pack_constant(&plan, tensor.get(), packed, plan.packed_bytes) == TEMPER_OK, "a constant is packed");
}

void use_winner(const temper_winners_view& view, uint32_t index) {
  const temper_winner* const winner = temper_winners_get(&view, index);
  const char* const name = temper_winners_name(&view, index);
  uint32_t found = UINT32_MAX;
  demand(temper_winners_find(&view, view.keys[index], &found) == TEMPER_OK && found == index,
         "a winner is found by its key");
  // by_name may name an entry twice and another never, under a right checksum: a miss then.
  demand(temper_winners_find_name(&view, name, &found) != TEMPER_OK ||
             std::string(temper_winners_name(&view, found)) == name,
         "a winner that is found by its name bears it");
  temper_plan plan{};
  demand(temper_winners_plan(&view, index, 8, &plan) == TEMPER_OK && plan.threads >= 1 && plan.grid > 0, "a plan");
  demand(plan.kernel == toy_kernels[0] || plan.kernel == toy_kernels[1], "a plan's kernel is one of the table's");
  pack_constant(plan, winner->elements);
  for (uint32_t n = 0; n < winner->count && n < kMostRead; ++n) {
    const void* const constant = temper_winners_constant(&view, index, n);
    const void* const* const all = view.winners->constants;
    demand(constant == nullptr || std::find(all, all + kWinnerConstants, constant) != all + kWinnerConstants,
           "a prepacked constant is one of those given");
  }
  demand(temper_winners_constant(&view, index, winner->count) == nullptr, "there is no constant behind the last");
}

}  // namespace

int fuzz_winners(const uint8_t* data, size_t size) {
  const ExactCopy copy(data, size);
  const temper_winners winners = winners_over(copy.data(), copy.size());
  const temper_device device{test_facts(), kBootTarget, 0};
  for (const temper_device* given : {static_cast<const temper_device*>(nullptr), &device}) {
    temper_winners_view view;
    const char* reason = nullptr;
    const bool opened = temper_winners_open(&view, &winners, given, &reason) == TEMPER_OK;
    demand(opened || (reason != nullptr && *reason != '\0' && view.count == 0), "refused winners say why");
    for (uint32_t i = 0; i < view.count && i < kMostRead; ++i) {
      use_winner(view, i);
    }
    temper_plan plan{};
    demand(temper_winners_plan(&view, view.count, 1, &plan) == TEMPER_INVALID_ARGUMENT &&
               temper_winners_name(&view, view.count) == nullptr,
           "there is no winner behind the last");
  }
  return 0;
}

namespace {

void leave_output_alone(float*, const float*, const float*, const float*, const float*, void*, const int32_t*, int32_t,
                        int32_t) {}

/// What follows from a legal config stays in its bounds, and the interval tests are sound for it.
void use_config(const Space& space, const Config& config) {
  demand(space.legal(config), "a config that a space hands out is legal");
  for (uint32_t chosen = 0; chosen <= space.knob_count(); ++chosen) {
    demand(space.possible(config, chosen), "a legal config is possible, however little of it is chosen");
  }
  int32_t values[TEMPER_MAX_KNOBS];
  space.values_of(config, values);
  Config chosen;
  for (uint32_t k = 0; k < space.knob_count(); ++k) {
    demand(config.choice[k] < space.choice_count(k), "a choice is listed");
    demand(space.choose(k, static_cast<uint16_t>(values[k]), &chosen).ok(), "a value is listed");
  }
  demand(chosen == config, "values tell the config");
  uint8_t features[kMaxFeatures];
  demand(space.features(config, features) <= kMaxFeatures, "features are as many as there may be");
  (void)space.prior_q8(config);
  temper_plan plan;
  if (make_plan(space, config, leave_output_alone, &plan).ok()) {
    demand(plan.grid > 0 && plan.threads >= 1 && plan.arg_count <= TEMPER_MAX_DIMS + TEMPER_MAX_KNOBS, "a plan");
    pack_constant(plan, space.workload().elements);
  }
}

void use_space(const PackView& view, uint32_t workload) {
  const temper_facts facts = test_facts();
  std::vector<int32_t> values(view.scratch_values());
  std::vector<Interval> intervals(view.scratch_intervals());
  const Space space(&view, workload, &facts, {values.data(), intervals.data()});
  demand(view.find_workload(space.workload().key) <= workload, "a workload is found by its key");
  Config config;
  if (space.nominal_default(&config).ok()) {
    use_config(space, config);
  }
  if (space.default_config(&config).ok()) {
    use_config(space, config);
  }
  Random random(1);
  for (int i = 0; i < 2 && space.sample(random, &config).ok(); ++i) {
    use_config(space, config);
    const Config changed = space.mutate(random, config);
    if (space.legal(changed)) {
      use_config(space, changed);
    }
  }
}

/// A whole boot and a short run; with kernels that leave the output alone every candidate is a wrong result or, where
/// the digest says so by chance, not.
void boot_pack_for_real(const temper_pack& pack) {
  temper_facts facts;
  (void)temper_nominal_facts(&pack, &facts);
  FirstBoot boot({.pack = &pack});
  if (boot.status() != TEMPER_OK) {
    return;
  }
  for (uint32_t w = 0; w < temper_workload_count(boot.context()) && w < kMostRead; ++w) {
    temper_answer answer;
    temper_plan plan;
    const bool answered = temper_lookup(boot.context(), w, &answer) == TEMPER_OK;
    demand(answered || temper_make_plan(boot.context(), w, &plan) != TEMPER_OK, "what has no config has no plan");
    demand(std::strlen(temper_workload_name(boot.context(), w)) < pack.data_bytes, "a name lies in the pack");
  }
  if (boot.start({1000000000u, 4, 0}, size_t{1} << 16)) {
    boot.run();
  }
}

}  // namespace

int fuzz_pack(const uint8_t* data, size_t size) {
  static constexpr temper_kernel kKernels[] = {leave_output_alone, leave_output_alone, leave_output_alone};
  const ExactCopy copy(data, size);
  const temper_pack packs[] = {{copy.data(), copy.size(), nullptr, 0}, {copy.data(), copy.size(), kKernels, 3}};
  for (const temper_pack& pack : packs) {
    PackView view;
    const char* reason = nullptr;
    const bool opened = PackView::open(pack, &view, &reason).ok();
    demand(opened || (reason != nullptr && *reason != '\0' && view.workload_count() == 0), "a refused pack says why");
    for (uint32_t w = 0; w < view.workload_count() && w < 8; ++w) {
      use_space(view, w);
    }
    if (opened && pack.kernels != nullptr) {
      boot_pack_for_real(pack);
    }
  }
  return 0;
}

}  // namespace temper::test
