#include "tests/tools/history_samples.h"

#include <cstring>
#include <random>

#include "tools/memory_storage.h"

namespace temper::test {
namespace {

Span<const uint8_t> bytes_of(const void* data, size_t bytes) { return {static_cast<const uint8_t*>(data), bytes}; }

/// Writes one history with the device core's own appends.
class SampleWriter {
 public:
  SampleWriter(uint64_t seed, const SampleSize& size)
      : random_(seed), size_(size), storage_({}, MemoryStorage::Manners::kFile) {
    flash_ = *storage_.storage();
    flash_.program_bytes = size.program_bytes;
    ScanReport report{};
    static_cast<void>(history_.open(&flash_, {buffer_, sizeof buffer_}, nullptr, nullptr, &report));
  }

  std::vector<uint8_t> write() {
    for (uint32_t ordinal = 0; ordinal < size_.fingerprints; ++ordinal) {
      write_fingerprint();
      for (uint32_t i = 0; i < size_.trials / size_.fingerprints; ++i) {
        write_trial(static_cast<uint16_t>(ordinal));
      }
      for (uint32_t i = 0; i < size_.commits / size_.fingerprints; ++i) {
        write_commit(static_cast<uint16_t>(ordinal));
      }
    }
    for (uint32_t i = 0; i < size_.open_intents; ++i) {
      write_intent(workload(), knobs());
    }
    return storage_.bytes();
  }

 private:
  using Knobs = std::vector<format::KnobValue>;

  uint64_t below(uint64_t limit) { return random_() % limit; }
  uint64_t workload() { return 0x1000 + below(size_.workloads); }
  Knobs knobs() {
    Knobs knobs;
    for (uint16_t id = 0; id < 3; ++id) {
      knobs.emplace_back(id, static_cast<uint16_t>(1 + below(size_.variety)));
    }
    return knobs;
  }

  void append(FrameType type, const void* head, size_t head_bytes, const Knobs& knobs) {
    static_cast<void>(history_.append(type, bytes_of(head, head_bytes),
                                      bytes_of(knobs.data(), knobs.size() * sizeof(format::KnobValue))));
  }

  void write_fingerprint() {
    const Fingerprint fingerprint(77, static_cast<uint32_t>(below(3)), 1, 1, 4, 8, 0, 0, 0, 25000, 50, 0,
                                  static_cast<uint32_t>(below(2)), 0, 0, 0);
    append(FrameType::kFingerprint, &fingerprint, sizeof fingerprint, {});
    for (uint32_t i = 0; i < size_.workloads; ++i) {
      const std::string name = "workload " + std::to_string(i);
      const format::WorkloadName head(0x1000 + i, 1000 + i, 1, static_cast<uint16_t>(name.size()), 0);
      static_cast<void>(
          history_.append(FrameType::kWorkload, bytes_of(&head, sizeof head), bytes_of(name.data(), name.size())));
    }
  }

  void write_intent(uint64_t key, const Knobs& config) {
    const format::Intent intent(key, 1, 1, static_cast<uint8_t>(config.size()), 0, 0);
    append(FrameType::kIntent, &intent, sizeof intent, config);
  }

  void write_trial(uint16_t ordinal) {
    const uint64_t key = workload();
    const Knobs config = knobs();
    if (below(2) == 0) {
      write_intent(key, config);
    }
    const auto outcome =
        static_cast<uint8_t>(below(4) == 0 ? below(TEMPER_OUTCOME_COUNT) : uint64_t{TEMPER_OUTCOME_OK});
    const uint64_t median = outcome == TEMPER_OUTCOME_OK ? 1000 + 100 * below(size_.variety) : 0;
    const format::Trial trial(key, median, static_cast<uint32_t>(below(size_.variety)), 0, 1, 1, ordinal, outcome,
                              static_cast<uint8_t>(3 + below(2)), static_cast<uint8_t>(config.size()),
                              below(8) == 0 ? 1 : 0, 0);
    append(FrameType::kTrial, &trial, sizeof trial, config);
  }

  void write_commit(uint16_t ordinal) {
    const bool kept = below(4) == 0;
    const uint64_t tuned = 1000 + 100 * below(size_.variety);
    const uint64_t by_default = kept ? tuned : tuned + 10 * (1 + below(size_.variety));
    const Knobs config = knobs();
    const format::Commit commit(workload(), by_default, tuned, 1, 1, ordinal, static_cast<uint8_t>(config.size()),
                                kept ? 1 : 0);
    append(FrameType::kCommit, &commit, sizeof commit, config);
  }

  std::mt19937_64 random_;
  SampleSize size_;
  MemoryStorage storage_;
  temper_storage flash_{};
  History history_;
  alignas(8) uint8_t buffer_[kHistoryBufferBytes];
};

std::string record(uint8_t type, uint32_t address, const uint8_t* data, size_t bytes) {
  std::string raw = {static_cast<char>(bytes), static_cast<char>(address >> 8), static_cast<char>(address),
                     static_cast<char>(type)};
  raw.append(reinterpret_cast<const char*>(data), bytes);
  uint8_t sum = 0;
  for (const char c : raw) {
    sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(c));
  }
  raw.push_back(static_cast<char>(-sum));
  std::string text = ":";
  for (const char c : raw) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    text += kDigits[static_cast<uint8_t>(c) >> 4];
    text += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

}  // namespace

std::vector<uint8_t> sample_history(uint64_t seed, const SampleSize& size) { return SampleWriter(seed, size).write(); }

std::string console_dump(const std::vector<uint8_t>& history, const std::string& line_end, const std::string& prefix) {
  constexpr size_t kPerRecord = 32;
  std::string text = "temper-history-begin " + std::to_string(history.size()) + line_end;
  for (size_t at = 0; at < history.size(); at += kPerRecord) {
    if (at % 0x10000 == 0 && at > 0) {
      const uint8_t upper[2] = {static_cast<uint8_t>(at >> 24), static_cast<uint8_t>(at >> 16)};
      text += prefix + record(4, 0, upper, 2) + line_end;
    }
    text += prefix + record(0, static_cast<uint32_t>(at & 0xFFFF), history.data() + at,
                            std::min(kPerRecord, history.size() - at));
    text += line_end;
  }
  return text + prefix + record(1, 0, nullptr, 0) + line_end + "temper-history-end" + line_end;
}

}  // namespace temper::test
