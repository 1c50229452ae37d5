// Links what a firmware that tunes and serves calls of temper's C API and nothing else, for the size report. Which
// profile it is, profile_learning tells. Never executed.
#include "toolchains/firmware/profile.h"

extern const temper_pack sized_pack;
const temper_pack sized_pack = {0, 0, 0, 0};

static temper_config config;
static temper_port port;
static temper_context* context;
static temper_budget budget;
static temper_progress progress;
static temper_answer answer;
static temper_plan plan;
static uint32_t workload;
static void* tensors[TEMPER_TENSOR_COUNT];
static float memory[16];
static volatile uint32_t used;  // what is read is kept

int main(void) {
  config.pack = &sized_pack;
  config.port = &port;
  config.learning = profile_learning;
  config.nearest = profile_nearest;
  used = temper_init(&context, &config, memory, used);
  used = temper_find_workload(context, tensors[0], &workload);
  used = (uint32_t)temper_tuning_bytes(context);
  used = temper_tune_start(context, &budget, memory, used);
  used = temper_tune_step(context, &progress);
  used = temper_lookup(context, workload, &answer);
  used = temper_make_plan(context, workload, &plan);
  used = temper_pack_constant(&plan, memory, tensors[0], used);
  return (int)temper_execute(&plan, &port, tensors, memory, used);
}
