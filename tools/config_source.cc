#include "tools/config_source.h"

#include "runtime/table_view.h"
#include "tools/history_file.h"
#include "tools/history_journal.h"
#include "tools/history_source.h"
#include "tools/whole_file.h"

namespace temper {

Result<bool> ConfigSource::open_table(const std::string& path) {
  temper_table table{};
  Result<std::vector<uint64_t>> words = read_whole_file(path, &table.data_bytes);
  if (!words) {
    return words.error();
  }
  table_words_.push_back(std::move(*words));
  table.data = table_words_.back().data();
  TableView view;
  const char* reason = "";
  const Status opened = TableView::open(table, &view, &reason);
  if (!opened.ok()) {
    return Error{opened.code(), path + ": not a tuned table that this build reads: " + reason};
  }
  tables_.push_back(table);
  const uint32_t differing = compare(view.fingerprint(), fingerprint_) & kFingerprintDecisive;
  if (differing != 0) {
    remarks_.push_back(path + " was made on another device (" + fingerprint_fields_text(differing) +
                       "): it is not used");
  }
  return true;
}

void ConfigSource::place() {
  const Span<const temper_table> tables{tables_.data(), tables_.size()};
  Arena counting;
  const Lookup counted(counting, pack_->view(), nullptr, nullptr, tables, &temper_table_reader);
  static_cast<void>(counted);
  arena_memory_.resize(counting.used / sizeof(uint64_t) + 8);
  Arena arena;
  arena.base = reinterpret_cast<uint8_t*>(arena_memory_.data());
  arena.capacity = arena_memory_.size() * sizeof(uint64_t);
  spaces_ = CurrentSpace(&pack_->view(), &device_.facts, pack_->scratch(), &temper_probed_defaults);
  lookup_ = Lookup(arena, pack_->view(), &spaces_, &fingerprint_, tables, &temper_table_reader);
}

void ConfigSource::offer(const FrameView& frame) {
  Fingerprint made_on;
  if (frame.type == FrameType::kFingerprint && read_fingerprint(frame, &made_on).ok()) {
    const uint32_t differing = compare(made_on, fingerprint_) & kFingerprintDecisive;
    history_differs_ |= differing;
    history_matches_ |= differing == 0;
  }
  lookup_.offer(frame);
}

Result<bool> ConfigSource::open_history(const std::string& path) {
  const Result<HistorySource> source =
      path.empty() ? Result<HistorySource>(Error{TEMPER_NOT_FOUND, ""}) : read_history_and_journals(path);
  if (!source) {
    return source.error().code == TEMPER_NOT_FOUND ? Result<bool>(true) : source.error();
  }
  for (const std::string& remark : source->remarks) {
    remarks_.push_back(path + ": " + remark);
  }
  const ScanReport scanned = scan_history(*source, [this](const FrameView& frame) { offer(frame); });
  lookup_.set_history(source->damaged || scanned.damaged_bytes > 0);
  if (scanned.damaged_bytes > 0) {
    remarks_.push_back(path + ": " + std::to_string(scanned.damaged_bytes) + " damaged bytes were passed over");
  }
  if (!history_matches_ && history_differs_ != 0) {
    remarks_.push_back(path + " was made on another device (" + fingerprint_fields_text(history_differs_) +
                       "): its results are hints only");
  }
  return true;
}

Result<std::unique_ptr<ConfigSource>> ConfigSource::open(const ConfigFiles& files, const HostDevice& device,
                                                         NetworkPack* pack) {
  std::unique_ptr<ConfigSource> source(new ConfigSource(device, pack));
  source->fingerprint_ = host_fingerprint(device, pack->view());
  for (const std::string& table : files.tables) {
    const Result<bool> opened = source->open_table(table);
    if (!opened) {
      return opened.error();
    }
  }
  source->place();
  if (files.tables.empty() || !files.history.empty()) {
    const Result<bool> opened =
        source->open_history(files.history.empty() ? default_history_path(device.target) : files.history);
    if (!opened) {
      return opened.error();
    }
  }
  return source;
}

Status ConfigSource::find(uint32_t workload, Config* config, temper_answer* answer) const {
  return lookup_.find(workload, config, answer);
}

}  // namespace temper
