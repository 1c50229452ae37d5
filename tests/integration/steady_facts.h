// Facts of a small machine with this host's vectors: defaults that follow from them are the same on every host of the
// kind. For tests that compile defaults; measured by nobody.
#pragma once

#include "codegen/target.h"
#include "temper/kernel.h"

namespace temper {

inline temper_facts steady_facts() {
  const Target target = native_target();
  temper_facts facts{};
  facts.value[TEMPER_FACT_VECTOR_LANES] = target.lanes;
  facts.value[TEMPER_FACT_VECTOR_REGISTERS] = target.registers;
  facts.value[TEMPER_FACT_L1D_BYTES] = 32 << 10;
  facts.value[TEMPER_FACT_L2_BYTES] = 1 << 20;
  facts.value[TEMPER_FACT_CORES] = 1;
  facts.value[TEMPER_FACT_THREADS] = 1;
  facts.value[TEMPER_FACT_CLOCK_KHZ] = 2000000;
  facts.value[TEMPER_FACT_COPY_MB_S] = 8000;
  facts.value[TEMPER_FACT_FMA_LATENCY] = 4;
  facts.value[TEMPER_FACT_FMA_PER_CYCLE] = 2;
  return facts;
}

}  // namespace temper
