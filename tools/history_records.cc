#include "tools/history_records.h"

#include <cstddef>
#include <cstring>
#include <set>

namespace temper {
namespace {

std::vector<uint8_t> payload_with_ordinal_0(const FrameView& frame) {
  std::vector<uint8_t> payload(frame.payload.begin(), frame.payload.end());
  payload[kFingerprintInResult] = payload[kFingerprintInResult + 1] = 0;
  return payload;
}

FrameView frame_of(FrameType type, const std::vector<uint8_t>& payload) {
  return {type, 0, {payload.data(), payload.size()}};
}

bool same_knobs(Span<const format::KnobValue> a, Span<const format::KnobValue> b) {
  return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size * sizeof(format::KnobValue)) == 0);
}

/// One pass over the frames of a history.
class RecordReader {
 public:
  /// `unit`: frames begin at multiples of it.
  RecordReader(HistoryRecords* out, uint32_t unit) : out_(*out), unit_(unit) {}

  void visit(const FrameView& frame, uint32_t offset) {
    if (!follows(frame, offset)) {
      lost_before_ = true;
      out_.lost_frames += frame.sequence > next_sequence_ ? frame.sequence - next_sequence_ : 1;
      intent_.reset();  // its trial may be among what is missing
    }
    ++out_.frames;
    next_sequence_ = frame.sequence + 1;
    end_ = offset + round_up(static_cast<uint32_t>(sizeof(FrameHeader) + frame.payload.size), unit_);
    if (!take(frame)) {
      ++out_.unreadable;
    }
  }

  /// `whole`: nothing is missing at the end.
  void finish(bool whole) {
    if (whole && intent_) {
      const size_t before = out_.open_intents.size();
      end_intent();
      out_.open_at_end = out_.open_intents.size() > before;
    }
  }

 private:
  /// What a power cut tore takes a number for each of its bytes (runtime/format/HISTORY.md); in histories of before
  /// that none, and then a torn frame that is whole once a file is filled up behind it has the number of the next.
  bool follows(const FrameView& frame, uint32_t offset) const {
    const uint32_t missing = frame.sequence - next_sequence_;
    return (out_.frames == 0 && frame.sequence <= 1) || missing == 0 || missing == UINT32_MAX ||
           missing == offset - end_;
  }

  struct Intent {
    uint64_t workload;
    uint16_t template_id, template_version;
    std::vector<format::KnobValue> knobs;
  };

  bool take(const FrameView& frame) {
    switch (frame.type) {
      case FrameType::kHeader:
        return true;
      case FrameType::kFingerprint:
        return take_fingerprint(frame);
      case FrameType::kWorkload:
        return take_workload(frame);
      case FrameType::kIntent:
        return take_intent(frame);
      case FrameType::kTrial:
        return take_trial(frame);
      case FrameType::kCommit:
        return take_commit(frame);
    }
    return false;
  }

  bool take_fingerprint(const FrameView& frame) {
    Fingerprint fingerprint{};
    if (!read_fingerprint(frame, &fingerprint).ok()) {
      out_.ordinals.push_back(HistoryRecords::kUnreadable);
      return false;
    }
    const std::string bytes(reinterpret_cast<const char*>(&fingerprint), sizeof fingerprint);
    const auto [known, fresh] = by_bytes_.emplace(bytes, out_.fingerprints.size());
    if (fresh) {
      out_.fingerprints.push_back(fingerprint);
    }
    out_.ordinals.push_back(known->second);
    return true;
  }

  /// Which fingerprint a record's ordinal means. Where frames are missing an ordinal may count another one than it did
  /// when it was written; only the last one seen is certain, for writers refer to the last one they wrote.
  std::optional<size_t> resolve(uint16_t ordinal) const {
    const bool certain = ordinal < out_.ordinals.size() && (!lost_before_ || ordinal + 1u == out_.ordinals.size());
    return certain && out_.ordinals[ordinal] != HistoryRecords::kUnreadable ? std::optional(out_.ordinals[ordinal])
                                                                            : std::nullopt;
  }

  void note_order(uint64_t key) {
    if (ordered_.insert(key).second) {
      out_.order.push_back(key);
    }
  }

  bool take_workload(const FrameView& frame) {
    WorkloadNameView view{};
    if (!read_workload(frame, &view).ok()) {
      return false;
    }
    note_order(view.head.workload());
    out_.workloads[view.head.workload()] = {std::string(view.name, view.head.name_bytes()), view.head.flops(),
                                            view.head.count()};
    return true;
  }

  bool take_intent(const FrameView& frame) {
    IntentView view{};
    if (!read_intent(frame, &view).ok()) {
      return false;
    }
    end_intent();  // at most one trial is open at a time, so the one before this never ended
    intent_ = Intent{view.intent.workload(),
                     view.intent.template_id(),
                     view.intent.template_version(),
                     {view.knobs.begin(), view.knobs.end()}};
    return true;
  }

  bool take_trial(const FrameView& frame) {
    TrialView view{};
    if (!read_trial(frame, &view).ok()) {
      return false;
    }
    note_order(view.trial.workload());
    const bool closes = intent_ && intent_->workload == view.trial.workload() &&
                        same_knobs({intent_->knobs.data(), intent_->knobs.size()}, view.knobs);
    if (closes) {
      intent_.reset();
    }
    const std::optional<size_t> fingerprint = resolve(view.trial.fingerprint());
    if (!fingerprint) {
      ++out_.orphans;
      return true;
    }
    if (view.trial.is_default() != 0) {
      defaults_[view.trial.workload()].assign(view.knobs.begin(), view.knobs.end());
    }
    out_.trials.push_back({*fingerprint, payload_with_ordinal_0(frame)});
    return true;
  }

  bool take_commit(const FrameView& frame) {
    CommitView view{};
    if (!read_commit(frame, &view).ok()) {
      return false;
    }
    note_order(view.commit.workload());
    const std::optional<size_t> fingerprint = resolve(view.commit.fingerprint());
    if (!fingerprint) {
      ++out_.orphans;
      return true;
    }
    out_.commits.push_back({*fingerprint, payload_with_ordinal_0(frame)});
    return true;
  }

  /// The open intent becomes what the device writes for it: a crashed trial.
  void end_intent() {
    if (!intent_) {
      return;
    }
    const Intent intent = std::move(*intent_);
    intent_.reset();
    note_order(intent.workload);
    if (out_.ordinals.empty() || out_.ordinals.back() == HistoryRecords::kUnreadable) {
      ++out_.orphans;
      return;
    }
    const std::vector<format::KnobValue>& usual = defaults_[intent.workload];
    const bool is_default =
        !usual.empty() && same_knobs({usual.data(), usual.size()}, {intent.knobs.data(), intent.knobs.size()});
    const format::Trial trial(intent.workload, 0, 0, 0, intent.template_id, intent.template_version, 0,
                              TEMPER_OUTCOME_CRASHED, 0, static_cast<uint8_t>(intent.knobs.size()), is_default ? 1 : 0,
                              0);
    HistoryRecord record{out_.ordinals.back(), std::vector<uint8_t>(sizeof trial)};
    std::memcpy(record.payload.data(), &trial, sizeof trial);
    const auto* const knobs = reinterpret_cast<const uint8_t*>(intent.knobs.data());
    record.payload.insert(record.payload.end(), knobs, knobs + intent.knobs.size() * sizeof(format::KnobValue));
    out_.open_intents.push_back(out_.trials.size());
    out_.trials.push_back(std::move(record));
  }

  HistoryRecords& out_;
  const uint32_t unit_;
  uint32_t end_ = 0;                        ///< of the last whole frame, with its padding
  std::map<std::string, size_t> by_bytes_;  ///< fingerprints that were seen
  std::set<uint64_t> ordered_;              ///< what out_.order holds
  std::map<uint64_t, std::vector<format::KnobValue>> defaults_;
  std::optional<Intent> intent_;
  uint32_t next_sequence_ = 0;
  bool lost_before_ = false;
};

}  // namespace

TrialView trial_of(const HistoryRecord& record) {
  TrialView view{};
  static_cast<void>(read_trial(frame_of(FrameType::kTrial, record.payload), &view));
  return view;
}

CommitView commit_of(const HistoryRecord& record) {
  CommitView view{};
  static_cast<void>(read_commit(frame_of(FrameType::kCommit, record.payload), &view));
  return view;
}

std::optional<MeasuredTime> measured_time(const HistoryRecord& trial) {
  const TrialView view = trial_of(trial);
  if (view.trial.outcome() != TEMPER_OUTCOME_OK || view.trial.median_ns() == 0) {
    return std::nullopt;
  }
  MeasuredTime time{view.trial.workload(), {}, static_cast<double>(view.trial.median_ns())};
  for (const format::KnobValue& knob : view.knobs) {
    time.knobs.push_back({knob.id(), knob.value()});
  }
  return time;
}

HistoryRecords read_records(const HistorySource& source) {
  HistoryRecords records;
  uint32_t offsets = kMaxProgramBytes;
  scan_history_places(source, [&offsets](const FrameView&, uint32_t offset) { offsets |= offset; });
  RecordReader reader(&records, offsets & (0u - offsets));  // the lowest bit that any offset has
  const ScanReport report =
      scan_history_places(source, [&reader](const FrameView& frame, uint32_t offset) { reader.visit(frame, offset); });
  reader.finish(!source.damaged && !source.in_use);
  records.damaged_bytes = report.damaged_bytes;
  records.used_bytes = report.end_offset;
  records.lost_frames += source.joined.lost_frames;
  records.unreadable += source.joined.unreadable;
  records.orphans += source.joined.orphans;
  return records;
}

}  // namespace temper
