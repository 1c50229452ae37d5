// The `lookup` profile. After temper_winners_open has verified the table, its accessors are safe.
#include "temper/winners.h"

#include <cstddef>

#include "runtime/pack_layout.h"
#include "runtime/table_view.h"

namespace temper {
namespace {

using format::BakedEntry;
using format::BakedPlan;

constexpr uint32_t kNoConstant = UINT32_MAX;
constexpr uint32_t kWorkspaceUnit = 64;
static_assert(sizeof(BakedPlan) == 68 && sizeof(BakedEntry) == sizeof(temper_winner) + 2 * sizeof(BakedPlan) &&
                  sizeof(temper_winner) == 48 && offsetof(temper_winner, elements) == 16,
              "a temper_winner is read in place");

bool plan_is_sound(const BakedPlan& plan, const BakedEntry& entry, const temper_winners& winners) {
  const uint32_t tensor = plan.packed_tensor();
  if (plan.kernel() >= winners.kernel_count || plan.grid() <= 0 || plan.threads() == 0 ||
      plan.workspace_bytes() % kWorkspaceUnit != 0 || plan.workspace_bytes() > INT32_MAX || tensor == TEMPER_OUT ||
      tensor > TEMPER_TENSOR_COUNT) {
    return false;
  }
  uint32_t packed_bytes = 0;
  if (tensor != TEMPER_TENSOR_COUNT) {
    packed_bytes = packed_bytes_of(plan.pack_layout()->data(), entry.elements()->Get(tensor));
    if (packed_bytes == 0) {
      return false;
    }
  }
  return plan.packed_bytes() == packed_bytes &&
         (plan.constant() == kNoConstant || (packed_bytes != 0 && plan.constant() <= winners.constant_count &&
                                             entry.count() <= winners.constant_count - plan.constant()));
}

// A FlatBuffers string: where the offset stored at `at` leads, behind its length.
const char* text(const uint32_t* at) { return reinterpret_cast<const char*>(at) + *at + sizeof(uint32_t); }

int32_t order(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return static_cast<uint8_t>(*a) - static_cast<uint8_t>(*b);
}

const BakedEntry& entry_of(const temper_winners_view& view, uint32_t index) {
  return static_cast<const BakedEntry*>(view.entries)[index];
}

bool is_sound(const temper_winners_view& view) {
  for (uint32_t i = 0; i < view.count; ++i) {
    const BakedEntry& entry = entry_of(view, i);
    if (!plan_is_sound(entry.winner(), entry, *view.winners) ||
        !plan_is_sound(entry.fallback(), entry, *view.winners) || view.by_name[i] >= view.count) {
      return false;
    }
    if (i != 0 && (view.keys[i] <= view.keys[i - 1] ||
                   order(text(view.names + view.by_name[i - 1]), text(view.names + view.by_name[i])) > 0)) {
      return false;
    }
  }
  return true;
}

// False when a part is missing or not as long as the others.
bool find_parts(const format::TunedTable& table, temper_winners_view* view) {
  using Table = format::TunedTable;
  constexpr flatbuffers::voffset_t kFields[] = {Table::VT_KEYS, Table::VT_BAKED, Table::VT_NAMES, Table::VT_BY_NAME};
  const uint32_t* part[4];
  for (uint32_t i = 0; i < 4; ++i) {
    part[i] = reinterpret_cast<const flatbuffers::Table&>(table).GetPointer<const uint32_t*>(kFields[i]);
    if (part[i] == nullptr || *part[i] != *part[0]) {
      return false;
    }
  }
  view->count = *part[0];
  view->keys = reinterpret_cast<const uint64_t*>(part[0] + 1);
  view->entries = part[1] + 1;
  view->names = part[2] + 1;
  view->by_name = part[3] + 1;
  return true;
}

// Driver, pack and features were those of the runner that tuned; here the kernels come with the table.
uint32_t differing_fields(const Fingerprint& tuned_on, const temper_device& device) {
  const uint64_t target = device.target_hash == 0 ? tuned_on.target_hash() : device.target_hash;
  return compare(tuned_on, make_fingerprint(target, device.facts, device.core_type, tuned_on.driver(),
                                            tuned_on.pack_hash(), tuned_on.feature_version()));
}

const BakedPlan* plan_of(const temper_winners_view* view, uint32_t index) {
  if (index >= view->count) {
    return nullptr;
  }
  const BakedEntry& entry = entry_of(*view, index);
  return view->source == TEMPER_SOURCE_TABLE ? &entry.winner() : &entry.fallback();
}

}  // namespace
}  // namespace temper

using namespace temper;

temper_status temper_winners_open(temper_winners_view* view, const temper_winners* winners, const temper_device* device,
                                  const char** reason) {
  view->count = 0;
  const format::TunedTable* table = nullptr;
  const Status status = open_table(winners->table, &table, reason);
  if (!status.ok()) {
    return status.code();
  }
  view->winners = winners;
  if (!find_parts(*table, view) || !is_sound(*view)) {
    view->count = 0;
    if (reason != nullptr) {
      *reason = "no plans, or plans for other kernels";
    }
    return TEMPER_BAD_DATA;
  }
  view->fingerprint_fields = device == nullptr ? 0 : differing_fields(*table->fingerprint(), *device);
  view->source = (view->fingerprint_fields & kFingerprintDecisive) == 0 ? TEMPER_SOURCE_TABLE : TEMPER_SOURCE_DEFAULT;
  return TEMPER_OK;
}

temper_status temper_winners_find(const temper_winners_view* view, uint64_t key, uint32_t* index) {
  uint32_t low = 0, high = view->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (view->keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *index = low;
  return low < view->count && view->keys[low] == key ? TEMPER_OK : TEMPER_NOT_FOUND;
}

temper_status temper_winners_find_name(const temper_winners_view* view, const char* name, uint32_t* index) {
  uint32_t low = 0, high = view->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    *index = view->by_name[middle];
    const int32_t compared = order(text(view->names + *index), name);
    if (compared == 0) {
      return TEMPER_OK;
    }
    if (compared < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return TEMPER_NOT_FOUND;
}

const char* temper_winners_name(const temper_winners_view* view, uint32_t index) {
  return index < view->count ? text(view->names + index) : nullptr;
}

const temper_winner* temper_winners_get(const temper_winners_view* view, uint32_t index) {
  return index < view->count ? reinterpret_cast<const temper_winner*>(&entry_of(*view, index)) : nullptr;
}

temper_status temper_winners_plan(const temper_winners_view* view, uint32_t index, uint32_t threads,
                                  temper_plan* plan) {
  const BakedPlan* const baked = plan_of(view, index);
  if (baked == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  plan->kernel = view->winners->kernels[baked->kernel()];
  plan->grid = baked->grid();
  plan->threads = threads < 1 ? 1 : threads < baked->threads() ? threads : baked->threads();
  plan->workspace_bytes = baked->workspace_bytes();
  plan->packed_tensor = static_cast<temper_tensor>(baked->packed_tensor());
  plan->packed_bytes = baked->packed_bytes();
  plan->memory = baked->memory();
  for (uint32_t i = 0; i < kLayoutNumbers; ++i) {
    plan->pack_layout[i] = baked->pack_layout()->Get(i);
  }
  plan->arg_count = 0;
  return TEMPER_OK;
}

const void* temper_winners_constant(const temper_winners_view* view, uint32_t index, uint32_t occurrence) {
  const BakedPlan* const baked = plan_of(view, index);
  const bool known =
      baked != nullptr && baked->constant() != kNoConstant && occurrence < entry_of(*view, index).count();
  return known ? view->winners->constants[baked->constant() + occurrence] : nullptr;
}
