#include "toolchains/firmware/report.h"

#include "toolchains/boards/board.h"
#include "toolchains/firmware/console.h"

enum { kMaxParts = 12 };

OWN_FRAME void report_boot(const char* mode) {
  static const char* const kCauses[BOARD_CAUSE_COUNT] = {"power-on", "reset", "alarm", "watchdog", "fault"};
  say("boot ", board_boot_count(), ": after ");
  board_print(kCauses[board_last_cause()]);
  board_print(", board ");
  board_print(board_name());
  board_print(", target " TEMPER_TARGET ", profile " TEMPER_PROFILE ", mode ");
  board_print(mode);
  board_print("\n");
}

OWN_FRAME temper_status report_needs(const temper_config* config, size_t pool_bytes, size_t* total_bytes) {
  static temper_need parts[kMaxParts];
  size_t count = 0;
  const temper_status status = temper_requirements(config, parts, kMaxParts, &count, total_bytes);
  if (status != TEMPER_OK) {
    board_print("needs: ");
    board_print(temper_status_name(status));
    board_print(": the pack or the config is not usable\n");
    return status;
  }
  for (size_t i = 0; i < count && i < kMaxParts; ++i) {
    say("need ", parts[i].bytes, " bytes: ");
    board_print(parts[i].part);
    board_print("\n");
  }
  say("arena ", *total_bytes, " bytes");
  say(" of a pool of ", pool_bytes, " bytes\n");
  return TEMPER_OK;
}

OWN_FRAME bool report_tensors(const temper_context* t, size_t free_bytes) {
  const size_t wanted = temper_tuning_bytes(t);
  say("tensors ", wanted, " bytes for every candidate");
  say(", ", free_bytes, " bytes left in the pool\n");
  bool fits = true;
  for (uint32_t w = 0; w < temper_workload_count(t); ++w) {
    size_t bytes = 0;
    for (int which = 0; which < TEMPER_TENSOR_COUNT; ++which) {
      bytes += temper_tensor_elements(t, w, (temper_tensor)which) * sizeof(float);
    }
    if (bytes > free_bytes) {
      board_print("does not fit: ");
      board_print(temper_workload_name(t, w));
      say(", its tensors take ", bytes, " bytes\n");
      fits = false;
    }
  }
  return fits;
}

static void say_time(const char* name, uint64_t time_ns) {
  board_print(name);
  say(" ", time_ns, " ns");
  if (board_ns_per_instruction() != 0) {
    say(" (", time_ns / board_ns_per_instruction(), " instructions)");
  }
}

typedef struct network_times {
  uint64_t default_ns, tuned_ns;
  uint32_t from_history, unknown;  // workloads
  uint32_t fields;                 // in which the history's device differs from this one
} network_times;

OWN_FRAME static void report_answer(const temper_context* t, uint32_t workload, network_times* sums) {
  static temper_answer answer;
  const uint32_t occurrences = temper_workload_occurrences(t, workload);
  board_print("workload ");
  board_print(temper_workload_name(t, workload));
  say(": count ", occurrences, ", from ");
  const temper_status status = temper_lookup(t, workload, &answer);
  if (status != TEMPER_OK) {
    board_print(temper_status_name(status));
    board_print("\n");
    ++sums->unknown;
    return;
  }
  sums->fields |= answer.fingerprint_fields[TEMPER_SOURCE_HISTORY];
  board_print(temper_source_name(answer.source));
  board_print(", history: ");
  board_print(temper_miss_name(answer.missed[TEMPER_SOURCE_HISTORY]));
  if (answer.tuned_ns > 0 && answer.default_ns == 0) {
    say_time(", the default does not work, tuned", answer.tuned_ns);
  } else if (answer.tuned_ns > 0) {
    say_time(", default", answer.default_ns);
    say_time(", tuned", answer.tuned_ns);
    sums->default_ns += answer.default_ns * occurrences;
    sums->tuned_ns += answer.tuned_ns * occurrences;
  }
  board_print("\n");
  sums->unknown += answer.default_ns == 0 || answer.tuned_ns == 0 ? 1 : 0;  // no sums then
  sums->from_history += answer.source == TEMPER_SOURCE_HISTORY ? 1 : 0;
}

// Results of another device or clock are hints, or to be confirmed.
static void say_differences(uint32_t fields) {
  const char* before = "history: made elsewhere: ";
  for (uint32_t bit = 0; fields >> bit != 0; ++bit) {
    if ((fields >> bit & 1u) != 0) {
      board_print(before);
      board_print(temper_fingerprint_field(bit));
      before = ", ";
    }
  }
  if (fields != 0) {
    board_print("\n");
  }
}

OWN_FRAME uint32_t report_answers(const temper_context* t) {
  network_times sums = {0};
  for (uint32_t w = 0; w < temper_workload_count(t); ++w) {
    report_answer(t, w, &sums);
  }
  say_differences(sums.fields);
  if (sums.unknown == 0) {
    say_time("total: default", sums.default_ns);
    say_time(", tuned", sums.tuned_ns);
    board_print(", ratio ");
    say_ratio(sums.tuned_ns, sums.default_ns);
    board_print("\n");
  }
  return sums.from_history;
}

OWN_FRAME void report_history(const temper_context* t) {
  temper_history_info info;
  if (temper_get_history_info(t, &info) != TEMPER_OK) {
    return;
  }
  board_print("history: ");
  if (info.generation != 0) {
    say("generation ", info.generation, ", ");
    say("", info.erased_blocks, " blocks erased, ");
  }
  say("", info.used_bytes, " of ");
  say("", info.region_bytes, " bytes used");
  board_print(info.writable ? "\n" : ", nothing more is written\n");
}

OWN_FRAME void report_memory(void) {
  const board_memory used = board_measure_memory();
  if (used.stack_size == 0) {
    return;
  }
  say("memory: flash ", used.flash_used, " of ");
  say("", used.flash_size, " bytes, RAM ");
  say("", used.ram_used, " of ");
  say("", used.ram_size, " bytes, stack ");
  say("", used.stack_used, " of ");
  say("", used.stack_size, " bytes\n");
}
