// The texts of pack faults, for tools; a firmware that reports none does not link them.
#include "runtime/pack_view.h"

namespace temper {
namespace {

constexpr const char* kTexts[] = {
    "none",
    "structure",
    "version",
    "checksum",
    "template count",
    "template id twice",
    "dim count",
    "knob count",
    "knob values",
    "knob kind or order",
    "knob id twice",
    "program",
    "program outputs",
    "workload template",
    "workload dims",
    "workload tensors",
    "workload tensor size",
    "workload default values",
    "variant count",
    "variant template",
    "variant value count",
    "variant value",
    "variant kernel",
};
static_assert(sizeof kTexts / sizeof *kTexts == static_cast<size_t>(PackFault::kCount), "one text per fault");

}  // namespace

const char* pack_fault_text(PackFault fault) {
  return fault < PackFault::kCount ? kTexts[static_cast<size_t>(fault)] : "unknown";
}

Status PackView::open(const temper_pack& pack, PackView* out, const char** reason) {
  const PackFault fault = verify(pack, out);
  if (reason != nullptr) {
    *reason = fault == PackFault::kNone ? nullptr : pack_fault_text(fault);
  }
  return status_of(fault);
}

}  // namespace temper
