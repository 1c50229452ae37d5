// temper_requirements: what the arena must hold, part by part. Linked where it is asked.
#include "runtime/api_context.h"

namespace temper {
namespace {

constexpr const char* kReasons[kArenaPartCount] = {
    "context: state of tuner, runner and history",
    "history buffer: one frame and one programmed page",
    "look-up: the last commit of each workload, a view of each table",
    "scratch of the evaluators: the longest program",
    "search: max_trials visited configs of one workload, the learner's entries",
};

}  // namespace
}  // namespace temper

temper_status temper_requirements(const temper_config* config, temper_need* parts, size_t capacity, size_t* count,
                                  size_t* total_bytes) {
  using temper::Status;
  if (count == nullptr || total_bytes == nullptr || (capacity > 0 && parts == nullptr)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  *count = 0;
  temper::PackView pack;
  Status status = temper::check_config(config);
  if (status.ok()) {
    status = status_of(temper::PackView::verify(*config->pack, &pack));
  }
  if (!status.ok()) {
    return status.code();
  }
  temper::Arena counting;
  temper::ArenaParts counted;
  temper::Lookup lookup;
  (void)counting.take(sizeof(temper_context), temper::kArenaAlignment);
  temper::take_parts(*config, pack, counting, &counted, &lookup, nullptr);
  size_t begin = 0;
  for (uint32_t i = 0; i <= temper::kArenaPartCount; ++i) {
    const bool last = i == temper::kArenaPartCount;
    const size_t bytes = last ? temper::kArenaAlignment - 1 : counted.end[i] - begin;
    begin += bytes;
    if (bytes != 0 && *count < capacity) {
      parts[*count] = {last ? "alignment of the arena's start" : temper::kReasons[i], bytes};
    }
    *count += bytes != 0 ? 1 : 0;
  }
  *total_bytes = begin;
  return TEMPER_OK;
}
