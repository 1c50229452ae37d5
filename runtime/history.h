// The history: typed frames appended to storage, each with its CRC; and what was read back. Power may fail at any
// moment: a frame is either whole or ignored. Flash of two erase blocks or more is cut into two regions, so that a
// compaction (runtime/compaction.h) can move what counts while the old region stays. Called by the tuner (append) and
// at init (scan); bounded memory, no allocation. Bytes: runtime/format/HISTORY.md.
#pragma once

#include <cstdint>

#include "runtime/fingerprint.h"
#include "runtime/flatbuffers_config.h"
#include "runtime/space.h"
#include "runtime/status.h"
#include "temper/port.h"

namespace temper {

inline constexpr uint16_t kHistoryVersion = 1;

enum class FrameType : uint8_t { kHeader = 1, kFingerprint = 2, kWorkload = 3, kIntent = 4, kTrial = 5, kCommit = 6 };

/// On storage: this, `bytes` of payload, zero padding to the program size. crc covers type..sequence and the payload.
/// A region's first frame is a header: payload "TMPH", the version and the generation, 0 where there is one region. It
/// keeps this layout in every version; a version that changes the frames also changes kFrameMagic of all others, so
/// that none is ever misread.
struct FrameHeader {
  uint8_t magic;  ///< kFrameMagic
  uint8_t type;   ///< FrameType
  uint16_t bytes;
  uint32_t sequence;
  uint32_t crc;
};
inline constexpr uint8_t kFrameMagic = 0x7E;
inline constexpr uint32_t kMaxPayload = 224;  ///< a workload frame with the longest name
inline constexpr uint32_t kHeaderPayload = 8;
inline constexpr uint32_t kMaxProgramBytes = 256;
/// What History::open wants for a storage of that program size; kHistoryBufferBytes is enough for any.
constexpr uint32_t history_buffer_bytes(uint32_t program_bytes) {
  return kMaxPayload + static_cast<uint32_t>(sizeof(FrameHeader)) + 4 + program_bytes;
}
inline constexpr uint32_t kHistoryBufferBytes = history_buffer_bytes(kMaxProgramBytes);
static_assert(sizeof(FrameHeader) == 12, "frame layout is persisted");

constexpr uint32_t round_up(uint32_t bytes, uint32_t unit) { return (bytes + unit - 1) & ~(unit - 1); }
/// What a frame takes on storage.
constexpr uint32_t frame_bytes(size_t payload_bytes, uint32_t program_bytes) {
  return round_up(static_cast<uint32_t>(sizeof(FrameHeader) + payload_bytes), program_bytes);
}

/// A frame as scanned, of any type: types that a later build added are for the visitor to pass over. `payload` is
/// aligned to 4 bytes and valid during the visit only.
struct FrameView {
  FrameType type;
  uint32_t sequence;
  Span<const uint8_t> payload;
};

inline constexpr uint32_t kNoGeneration = 0x10001;  ///< in 16 bits the first, which is what a region without one is

struct ScanReport {
  uint32_t frames = 0;         ///< whole ones
  uint32_t damaged_bytes = 0;  ///< skipped while looking for the next whole frame; padding and erased bytes not counted
  uint32_t end_offset = 0;     ///< where the next frame goes
  uint32_t headers = 0;
  uint32_t generation = kNoGeneration;  ///< of the last header
};

class History {
 public:
  History() = default;

  /// Of two regions takes the one whose header is of the newer generation; a region without a header is a compaction
  /// that power ended. Reads the region's frames, calling visit (may be nullptr) once for each whole one in order;
  /// visit must not append. A new or erased storage gets a header. What is damaged is skipped and counted; the next
  /// frame goes behind everything that is not erased. `buffer` (history_buffer_bytes) is kept and used by appends too.
  /// After any status but TEMPER_OK the history is memory-only and nothing (more) is written: TEMPER_BAD_VERSION: the
  /// header is of another version. TEMPER_BAD_DATA: this is not a history; it holds foreign bytes.
  /// TEMPER_INVALID_ARGUMENT: storage or buffer break their contract. TEMPER_STORAGE_*: reading failed, or writing the
  /// header did.
  Status open(const temper_storage* storage, Span<uint8_t> buffer, void* context,
              void (*visit)(void* context, const FrameView& frame), ScanReport* report);

  /// Reads everything up to where the next frame goes once more, calling visit as open() does; also when nothing more
  /// can be written. The status of open() when that failed; TEMPER_STORAGE_* when reading fails now.
  Status rescan(void* context, void (*visit)(void* context, const FrameView& frame));

  /// Appends one frame, reads it back and syncs. After the first failure the history is memory-only: later calls return
  /// the same status. TEMPER_STORAGE_FULL, TEMPER_STORAGE_ERROR; TEMPER_NOT_FOUND when there is no storage;
  /// TEMPER_INVALID_ARGUMENT when the payload exceeds kMaxPayload (the history stays writable).
  Status append(FrameType type, Span<const uint8_t> payload) { return append(type, payload, {}); }
  /// Payload in two pieces: a fixed struct, then its knob values (or the like).
  Status append(FrameType type, Span<const uint8_t> head, Span<const uint8_t> tail);
  /// Where to put the payload of the next frame, kMaxPayload bytes aligned to 4; then append_reserved, before anything
  /// else is asked of the history. Statuses as append.
  Status reserve(uint8_t** payload);
  Status append_reserved(FrameType type, uint32_t payload_bytes);

  bool writable() const { return storage_ != nullptr && failure_.ok(); }
  Status failure() const { return failure_; }
  /// Nothing more is written, for this reason.
  void fail(Status why) { failure_ = why; }

  /// Where it stands in storage.
  struct Place {
    uint32_t begin;  ///< of the region
    uint32_t end;    ///< where the next frame goes
    uint32_t sequence;
  };
  const temper_storage* storage() const { return storage_; }  ///< nullptr: never opened, or open() failed
  const Place& place() const { return place_; }
  uint32_t region_bytes() const { return region_bytes_; }
  uint32_t room_bytes() const { return place_.begin + region_bytes_ - place_.end; }
  uint16_t generation() const { return generation_; }

  /// The rest is a compaction's. Where there is no other region there is none.
  bool has_other_region() const { return second_begin_ != 0; }
  /// From now on frames are appended to the other region, which erase_block erases first, one block after the other.
  void start_move();
  Status erase_block(uint32_t block);
  /// Reads what begins at *offset, below `limit`: one frame, or what is none: then frame->payload.data is nullptr.
  /// Moves *offset behind it.
  Status read_next(uint32_t* offset, uint32_t limit, FrameView* frame);
  /// Puts the header in front of what was appended: from now on the other region is the history.
  Status finish_move();
  /// Back to where it was before start_move.
  void cancel_move(const Place& before) { place_ = before; }

 private:
  const temper_storage* storage_ = nullptr;
  Span<uint8_t> buffer_;
  Place place_{};
  uint32_t region_bytes_ = 0;
  uint32_t second_begin_ = 0;  // of the second region; 0: there is one
  uint32_t filler_ = 0;        // zeros to write before the next frame, on a file that ends in a torn one
  uint16_t generation_ = 0;
  Status failure_;

  Status choose_region();
  void erase_torn_header();
  Status scan(void* context, void (*visit)(void* context, const FrameView& frame), uint32_t limit, ScanReport* report);
  Status put_header();
  Status read(uint32_t offset, uint32_t bytes);
  Status load_frame(uint32_t offset, uint32_t limit, uint32_t available, FrameHeader* header);
  Status write(uint32_t bytes, uint32_t crc);
};

/// Where in a trial's or commit's payload the template's id and version stand, behind them the fingerprint's ordinal;
/// and in an intent's the former.
inline constexpr uint32_t kTemplateInResult = 24, kFingerprintInResult = 28, kTemplateInIntent = 8;
/// An ordinal of no fingerprint frame.
inline constexpr uint16_t kNoFingerprint = 0xFFFF;

/// Typed appends (records.cc); knob ids and values are taken from the space. Statuses as History::append.
Status append_fingerprint(History& history, const Fingerprint& fingerprint);
Status append_workload(History& history, const WorkloadView& workload);
Status append_intent(History& history, const Space& space, const Config& config);
struct TrialResult {
  temper_outcome outcome;
  uint64_t median_ns;
  uint64_t spread_ns;
  uint32_t build_us;
  uint8_t sample_count;
  bool is_default;
};
Status append_trial(History& history, const Space& space, const Config& config, uint16_t fingerprint,
                    const TrialResult& result);
struct CommitResult {
  uint64_t default_ns, tuned_ns;
  bool kept_default;
};
Status append_commit(History& history, const Space& space, const Config& config, uint16_t fingerprint,
                     const CommitResult& result);

/// Reads a frame's payload back, lengths and ranges checked. TEMPER_BAD_DATA when it is of another type, shorter than
/// it says, or of an outcome that this build does not know. `knobs` and `dims` point into the payload.
struct TrialView {
  format::Trial trial;
  Span<const format::KnobValue> knobs;
};
struct CommitView {
  format::Commit commit;
  Span<const format::KnobValue> knobs;
  Span<const int32_t> dims;  ///< of the workload, in its template's order; the last are missing where they did not fit,
                             ///< all where not kept
};
struct IntentView {
  format::Intent intent;
  Span<const format::KnobValue> knobs;
};
struct WorkloadNameView {
  format::WorkloadName head;
  const char* name;  ///< not terminated; head.name_bytes() long
};
Status read_trial(const FrameView& frame, TrialView* out);
Status read_commit(const FrameView& frame, CommitView* out);
Status read_intent(const FrameView& frame, IntentView* out);
Status read_fingerprint(const FrameView& frame, Fingerprint* out);
Status read_workload(const FrameView& frame, WorkloadNameView* out);

/// The config that persisted knobs mean in this space; TEMPER_NOT_FOUND when a knob or value is not
/// of this space or one is missing: *out is then any config.
Status config_from_knobs(const Space& space, Span<const format::KnobValue> knobs, Config* out);

}  // namespace temper
