// A Linux board: the port is temper's own for Linux, the history a file, the options the words of the command line.
#include "toolchains/boards/board.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "temper/port_linux.h"

enum { kHistoryBytes = 1 << 22, kExitByAlarm = 124 };

static char options[1024];
static char history_path[4096];

// Runs before main: glibc hands the command line to constructors.
__attribute__((constructor)) static void keep_options(int argc, char** argv) {
  size_t used = 0;
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "history=", 8) == 0) {
      const int length = snprintf(history_path, sizeof history_path, "%s", argv[i] + 8);
      if (length < 0 || (size_t)length >= sizeof history_path) {  // cut short it would name another file
        fprintf(stderr, "history=: the path is longer than %zu characters\n", sizeof history_path - 1);
        exit(2);
      }
      continue;
    }
    const int written = snprintf(options + used, sizeof options - used, "%s%s", used == 0 ? "" : " ", argv[i]);
    if (written < 0 || used + (size_t)written >= sizeof options) {
      fprintf(stderr, "the options are longer than %zu characters\n", sizeof options);
      exit(2);
    }
    used += (size_t)written;
  }
}

static void ring(int number) {
  (void)number;
  static const char kText[] = "alarm\n";
  const ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(written < 0 ? kExitByAlarm + 1 : kExitByAlarm);
}

static void set_alarm(void* self, uint64_t after_ns) {
  (void)self;
  const uint64_t after_us = after_ns == 0 ? 0 : after_ns / 1000 + 1;
  const struct itimerval timer = {
      .it_value = {.tv_sec = (time_t)(after_us / 1000000), .tv_usec = (suseconds_t)(after_us % 1000000)}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void log_line(void* self, const char* line) {
  (void)self;
  printf("log: %s\n", line);
}

const temper_port* board_port(void) {
  static temper_port port;
  static temper_linux_file* file;
  if (port.now_ns != NULL) {
    return &port;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (history_path[0] != 0) {
    const temper_status status = temper_linux_file_open(history_path, TEMPER_LINUX_APPEND, kHistoryBytes, &file);
    if (status != TEMPER_OK) {
      printf("history %s: %s\n", history_path, temper_status_name(status));
      return NULL;
    }
  }
  port = temper_linux_port(NULL, file);
  port.log = log_line;
  port.set_alarm = set_alarm;
  signal(SIGALRM, ring);
  return &port;
}

const char* board_name(void) { return "linux"; }

const temper_default_functions* const board_defaults = &temper_probed_defaults;

// Of the core, what the kernels are compiled for counts; of the rest, what the machine tells.
void board_facts(temper_facts* facts) {
  static const temper_fact kFact[] = {TEMPER_FACT_VECTOR_LANES, TEMPER_FACT_VECTOR_REGISTERS, TEMPER_FACT_FMA_LATENCY,
                                      TEMPER_FACT_FMA_PER_CYCLE};
  static const int32_t kValue[] = {TEMPER_CORE_FACTS};
  _Static_assert(sizeof kFact / sizeof *kFact == sizeof kValue / sizeof *kValue, "the toolchain file gives each");
  if (temper_linux_probe(facts) != TEMPER_OK) {
    *facts = (temper_facts){{[TEMPER_FACT_CORES] = 1}};
  }
  for (size_t i = 0; i < sizeof kFact / sizeof *kFact; ++i) {
    facts->value[kFact[i]] = kValue[i];
  }
  facts->value[TEMPER_FACT_THREADS] = 1;
  facts->value[TEMPER_FACT_MEMORIES] = 1;
}

uint32_t board_core_type(void) { return temper_linux_core_type(); }
uint32_t board_ns_per_instruction(void) { return 0; }
uint32_t board_boot_count(void) { return 1; }
board_cause board_last_cause(void) { return BOARD_POWER_ON; }
void board_reset(void) {}
const char* board_options(void) { return options; }
void board_print(const char* text) { fputs(text, stdout); }
board_memory board_measure_memory(void) { return (board_memory){0}; }
void board_forget_stack(uint32_t stack_used) { (void)stack_used; }
const temper_memory* board_memories(uint32_t* count) {
  *count = 0;
  return NULL;
}
