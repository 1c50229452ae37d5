// temper_nominal_facts: linked where it is asked.
#include "runtime/pack_view.h"
#include "temper/temper.h"

temper_status temper_nominal_facts(const temper_pack* pack, temper_facts* facts) {
  if (pack == nullptr || facts == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  temper::PackView view;
  const temper::Status status = status_of(temper::PackView::verify(*pack, &view));
  if (!status.ok()) {
    return status.code();
  }
  const temper::Span<const int32_t> told = view.facts();
  for (uint32_t i = 0; i < TEMPER_FACT_COUNT; ++i) {
    facts->value[i] = i < told.size ? told[i] : 0;
  }
  return told.empty() ? TEMPER_NOT_FOUND : TEMPER_OK;
}
