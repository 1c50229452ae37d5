// An application that tunes, looks up, plans, packs and executes through temper's C API on Linux.
// example_app HISTORY: tunes in the first run; later runs find the result there and measure nothing.
#include <stdio.h>
#include <stdlib.h>
#include <temper/port_linux.h>
#include <temper/temper.h>

extern const temper_pack example_pack;  // linked in: kernels, and the data that describes their spaces

static void check(temper_status status, const char* what) {
  if (status != TEMPER_OK) {
    fprintf(stderr, "%s: %s\n", what, temper_status_name(status));
    exit(1);
  }
}

static void* buffer(size_t bytes) {  // temper takes all memory from its caller; here it is static
  static _Alignas(64) unsigned char pool[4 << 20];
  static size_t used;
  void* const at = pool + used;
  used += (bytes + 63) / 64 * 64;
  check(used <= sizeof pool ? TEMPER_OK : TEMPER_NO_MEMORY, "pool");
  return at;
}

int main(int argc, char** argv) {
  temper_linux_file* file;  // the port: clock, threads, and a file for the history
  temper_linux_threads* threads;
  temper_config config = {.pack = &example_pack, .max_trials = 256, .core_type = temper_linux_core_type()};
  config.learning = &temper_learning, config.defaults = &temper_probed_defaults;  // what else is linked in
  check(temper_linux_file_open(argc > 1 ? argv[1] : "example.history", TEMPER_LINUX_APPEND, 1 << 20, &file), "history");
  check(temper_linux_threads_create(temper_linux_cpu_count(), &threads), "threads");
  check(temper_linux_probe(&config.facts), "facts");
  const temper_port port = temper_linux_port(threads, file);
  config.port = &port;
  temper_need needs[8];  // how much the arena must hold, and why
  size_t count, bytes;
  check(temper_requirements(&config, needs, 8, &count, &bytes), "requirements");
  for (size_t i = 0; i < count; ++i) printf("%8zu bytes  %s\n", needs[i].bytes, needs[i].part);
  temper_context* t;
  check(temper_init(&t, &config, buffer(bytes), bytes), "init");

  temper_answer answer;  // look up: measures nothing
  uint32_t dense;
  check(temper_find_workload(t, "dense", &dense), "workload");
  check(temper_lookup(t, dense, &answer), "lookup");
  printf("before: from %s; history: %s\n", temper_source_name(answer.source), temper_miss_name(answer.missed[0]));

  const temper_budget budget = {.time_ns = 5000000000u, .trials = 64};  // tune by steps: 64 trials, at most 5 s
  temper_progress progress = {0};
  check(temper_tune_start(t, &budget, buffer(temper_tuning_bytes(t)), temper_tuning_bytes(t)), "tuning");
  temper_status status = TEMPER_MORE;
  while (status == TEMPER_MORE) status = temper_tune_step(t, &progress);  // other work may be done in between
  check(status, "tuning");
  check(temper_lookup(t, dense, &answer), "lookup");
  printf("after %u trials: from %s, default %llu ns, tuned %llu ns\n", progress.trials,
         temper_source_name(answer.source), (unsigned long long)answer.default_ns, (unsigned long long)answer.tuned_ns);

  temper_plan plan;  // plan once, pack the constant once, execute on buffers of ours
  check(temper_make_plan(t, dense, &plan), "plan");
  void* tensors[TEMPER_TENSOR_COUNT] = {NULL};
  for (int which = 0; which < TEMPER_TENSOR_COUNT; ++which) {
    const size_t elements = temper_tensor_elements(t, dense, which);
    float* const tensor = tensors[which] = elements > 0 ? buffer(elements * sizeof(float)) : NULL;
    for (size_t i = 0; i < elements; ++i) tensor[i] = 0.5f;
  }
  void* const packed = buffer(plan.packed_bytes);
  if (plan.packed_bytes > 0) {
    check(temper_pack_constant(&plan, tensors[plan.packed_tensor], packed, plan.packed_bytes), "packing");
    tensors[plan.packed_tensor] = packed;
  }
  const size_t workspace_bytes = (size_t)plan.threads * plan.workspace_bytes;
  check(temper_execute(&plan, &port, tensors, buffer(workspace_bytes), workspace_bytes), "execution");
  const float out = *(const float*)tensors[TEMPER_OUT];
  printf("out[0] = %g\n", out);
  temper_linux_threads_destroy(threads);
  temper_linux_file_close(file);
  return out == 128 * 0.25f + 0.5f ? 0 : 1;  // 128 products of halves, and the bias
}
