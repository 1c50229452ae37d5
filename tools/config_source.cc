#include "tools/config_source.h"

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
  const Lookup counted(counting, &pack_->view(), nullptr, tables);
  static_cast<void>(counted);
  arena_memory_.resize(counting.used / sizeof(uint64_t) + 8);
  Arena arena;
  arena.base = reinterpret_cast<uint8_t*>(arena_memory_.data());
  arena.capacity = arena_memory_.size() * sizeof(uint64_t);
  lookup_ = Lookup(arena, &pack_->view(), &fingerprint_, tables);
}

void ConfigSource::offer(const FrameView& frame) {
  Fingerprint made_on;
  if (frame.type == FrameType::kFingerprint && read_fingerprint(frame, &made_on).ok()) {
    const uint32_t differing = compare(made_on, fingerprint_) & kFingerprintDecisive;
    history_differs_ |= differing;
    history_matches_ |= differing == 0;
  }
  lookup_.offer(frame, {spaces_.data(), spaces_.size()});
}

Result<bool> ConfigSource::open_history(const std::string& path) {
  Result<HistoryFile> file = open_history_to_read(path);
  if (!file) {
    return file.error();
  }
  history_file_ = std::move(*file);
  if (history_file_.storage() == nullptr) {
    return true;
  }
  history_buffer_.resize(kHistoryBufferBytes / sizeof(uint64_t) + 1);
  const Span<uint8_t> buffer{reinterpret_cast<uint8_t*>(history_buffer_.data()),
                             history_buffer_.size() * sizeof(uint64_t)};
  ScanReport scanned{};
  const auto visit = [](void* self, const FrameView& frame) { static_cast<ConfigSource*>(self)->offer(frame); };
  const Status status = history_.open(history_file_.storage(), buffer, this, visit, &scanned);
  if (status == TEMPER_BAD_VERSION || status == TEMPER_BAD_DATA) {
    return history_error(path, status.code());
  }
  lookup_.set_history(!status.ok() || scanned.damaged_bytes > 0);
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
  for (uint32_t i = 0; i < pack->view().workload_count(); ++i) {
    source->spaces_.push_back(pack->space(i, &source->device_.facts));
  }
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
  return lookup_.find(workload, spaces_[workload], config, answer);
}

}  // namespace temper
