// What a temper_context holds, and how it is placed: shared by the files of the C API, seen by nobody else.
#pragma once

#include "runtime/board_tuner.h"
#include "runtime/pack_runner.h"

struct temper_context {
  const temper_config* config;
  temper::PackView pack;
  temper::Fingerprint fingerprint;
  temper::CurrentSpace spaces;
  temper::Lookup lookup;
  temper::BoardTuner tuner;
  temper::History history;
  temper::PackRunner runner;
};

namespace temper {

inline constexpr size_t kArenaAlignment = 8;

/// The parts of the arena, in the order of their place.
enum ArenaPart : uint8_t { kContextPart, kHistoryPart, kLookupPart, kScratchPart, kSearchPart, kArenaPartCount };

/// What was taken from the arena; nullptrs when it only counted or when it was too small.
struct ArenaParts {
  size_t end[kArenaPartCount];   ///< of each part
  Span<uint8_t> history_buffer;  ///< empty without storage
  void* scratch;
  void* search;
};

Status check_config(const temper_config* config);
/// Takes every part of the arena behind the context, and makes the look-up on the way. `t` nullptr: only counts.
void take_parts(const temper_config& config, const PackView& pack, Arena& arena, ArenaParts* parts, Lookup* lookup,
                temper_context* t);

}  // namespace temper
