// Links the `lookup` profile whole and nothing else, for the size report: every function of temper/winners.h that a
// firmware of winners calls, temper_pack_constant and temper_execute. Never executed.
#include "temper/winners.h"

extern const temper_winners sized_winners;
const temper_winners sized_winners = {{0, 0}, 0, 0, 0, 0};

static temper_device device;
static temper_winners_view winners;
static temper_plan plan;
static uint32_t entry;
static void* tensors[TEMPER_TENSOR_COUNT];
static float memory[16];
static const char* reason;
static volatile uint32_t used;  // what is read is kept

int main(void) {
  used = temper_winners_open(&winners, &sized_winners, &device, &reason);
  used = temper_winners_find(&winners, used, &entry);
  used = temper_winners_find_name(&winners, reason, &entry);
  used = temper_winners_get(&winners, entry)->digest;
  used = (uint32_t)temper_winners_name(&winners, entry)[0];
  used = temper_winners_plan(&winners, entry, used, &plan);
  tensors[TEMPER_IN_B] = (void*)(uintptr_t)temper_winners_constant(&winners, entry, used);
  used = temper_pack_constant(&plan, memory, tensors[TEMPER_OUT], used);
  return (int)temper_execute(&plan, 0, tensors, memory, used);
}
