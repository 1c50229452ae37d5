#include "schedules/template_data.h"

namespace temper {

Result<TemplateData> with_programs(TemplateData data, BuildProgram* constraint, BuildProgram* defaults,
                                   BuildProgram* shape, BuildProgram* features, BuildProgram* prior) {
  struct Part {
    const char* name;
    BuildProgram* build;
    ProgramData* program;
  };
  const Part parts[] = {{"constraint", constraint, &data.constraint},
                        {"defaults", defaults, &data.defaults},
                        {"shape", shape, &data.shape},
                        {"features", features, &data.features},
                        {"prior", prior, &data.prior}};
  for (const Part& part : parts) {
    Result<ProgramData> program = part.build(&data.constants);
    if (!program.ok()) {
      return Error{program.error().code, data.name + " " + part.name + ": " + program.error().message};
    }
    *part.program = std::move(*program);
  }
  return data;
}

FactTerms::FactTerms(ProgramBuilder& builder)
    : lanes(builder.fact(TEMPER_FACT_VECTOR_LANES)),
      registers(builder.fact(TEMPER_FACT_VECTOR_REGISTERS)),
      l1(builder.fact(TEMPER_FACT_L1D_BYTES)),
      l2(builder.fact(TEMPER_FACT_L2_BYTES)),
      l3(builder.fact(TEMPER_FACT_L3_BYTES)),
      threads(max(builder.fact(TEMPER_FACT_THREADS), 1)),
      latency(max(builder.fact(TEMPER_FACT_FMA_LATENCY), 1)),
      per_cycle(max(builder.fact(TEMPER_FACT_FMA_PER_CYCLE), 1)),
      vector_lanes(select(lanes < 4, 1, select(lanes < 8, 4, select(lanes < 16, 8, 16)))),
      wide(per_cycle > 1) {}

Expr lanes_legal(const FactTerms& facts, Expr lanes, Expr extent) {
  const Expr scalar = facts.vector_lanes == 1 || extent == 1;
  const Expr fits = lanes > 1 && lanes <= facts.vector_lanes && facts.vector_lanes <= lanes * 4 && lanes < extent * 4;
  return select(scalar, lanes == 1, fits);
}

Expr default_lanes(const FactTerms& facts, Expr extent) {
  const Expr scalar = facts.vector_lanes == 1 || extent == 1;
  const Expr widest = select(extent <= 4, 4, select(extent <= 8, 8, 16));
  return select(scalar, 1, min(facts.vector_lanes, widest));
}

Expr feature_log(Expr value, int32_t less_q4) { return log2(value) / 16 - less_q4; }

}  // namespace temper
