#include "schedules/pack_reduction.h"

#include <algorithm>
#include <set>

namespace temper {
namespace {

/// Workspace bytes and packed tensor among the outputs of a shape program.
enum ShapeOutput : uint8_t { kShapeWorkspace = 1, kShapePackedTensor = 2 };

std::vector<Expr> outputs_of(const ProgramData& program, const std::vector<Expr>& values) {
  std::vector<Expr> outputs;
  for (const uint8_t output : program.outputs) {
    outputs.push_back(values[output]);
  }
  return outputs;
}

/// `program` with one output more, made by `extra` in the same builder.
template <class Extra>
Result<ProgramData> with_output(const ProgramData& program, const std::vector<int32_t>& constants, ConstantPool* pool,
                                const Extra& extra) {
  ProgramBuilder builder(pool);
  std::vector<Expr> outputs = outputs_of(program, replay(builder, program, constants));
  outputs.push_back(extra(builder));
  return builder.finish(outputs);
}

Interval range_of(const KnobData& knob) { return {knob.values.front(), knob.values.back()}; }

/// Every workload with every variant, the run knobs anywhere in their lists.
std::vector<FoldCase> all_cases(const TemplateData& data, const PackUse& use) {
  std::vector<FoldCase> cases;
  for (const std::vector<int32_t>& dims : use.dims) {
    for (const std::vector<uint16_t>& variant : use.variants) {
      FoldCase at{&dims, {}};
      for (size_t knob = 0; knob < data.knobs.size(); ++knob) {
        const bool compiled = knob < variant.size();
        at.knobs.push_back(compiled ? Interval{variant[knob], variant[knob]} : range_of(data.knobs[knob]));
      }
      cases.push_back(std::move(at));
    }
  }
  return cases;
}

/// Those where the variant may serve the workload.
std::vector<FoldCase> served(std::vector<FoldCase> cases, const TemplateData& data, const PackUse& use) {
  std::erase_if(
      cases, [&](const FoldCase& at) { return !may_hold_in(data.constraint, data.constants.values(), at, use.facts); });
  return cases;
}

void keep_values(const std::set<uint16_t>& kept, KnobData* knob) {
  std::erase_if(knob->values, [&](uint16_t value) { return !kept.contains(value); });
}

void drop_compile_values(const PackUse& use, TemplateData* data) {
  for (size_t knob = 0; knob < use.variants.front().size(); ++knob) {
    std::set<uint16_t> kept;
    for (const std::vector<uint16_t>& variant : use.variants) {
      kept.insert(variant[knob]);
    }
    keep_values(kept, &data->knobs[knob]);
  }
}

/// Leaves the run-knob values that some case admits by the interval test; a list never becomes empty.
void drop_run_values(const PackUse& use, std::vector<FoldCase>* cases, TemplateData* data) {
  for (size_t knob = use.variants.front().size(); knob < data->knobs.size(); ++knob) {
    std::set<uint16_t> kept;
    for (const uint16_t value : data->knobs[knob].values) {
      for (FoldCase& at : *cases) {
        const Interval all = at.knobs[knob];
        at.knobs[knob] = {value, value};
        const bool may = may_hold_in(data->constraint, data->constants.values(), at, use.facts);
        at.knobs[knob] = all;
        if (may) {
          kept.insert(value);
          break;
        }
      }
    }
    if (!kept.empty()) {
      keep_values(kept, &data->knobs[knob]);
    }
  }
}

}  // namespace

Result<TemplateData> with_memory_knob(const TemplateData& data, uint32_t memories) {
  TemplateData result = data;
  const uint32_t knob = static_cast<uint32_t>(data.knobs.size());
  KnobData memory{KnobKind::kRun, "memory", {}};
  memory.id = kMemoryKnobId;
  for (uint32_t i = 0; i < memories; ++i) {
    memory.values.push_back(static_cast<uint16_t>(i));
  }
  result.knobs.push_back(memory);
  const std::vector<int32_t> constants = data.constants.values();
  const auto matters = [&](ProgramBuilder& builder) {
    const std::vector<Expr> shape = outputs_of(data.shape, replay(builder, data.shape, constants));
    const Expr places = shape[kShapeWorkspace] > 0 || shape[kShapePackedTensor] != TEMPER_TENSOR_COUNT;
    return builder.knob(knob) == 0 || places;
  };
  struct {
    ProgramData TemplateData::*program;
    Result<ProgramData> made;
  } const programs[] = {
      {&TemplateData::constraint, with_output(data.constraint, constants, &result.constants, matters)},
      {&TemplateData::defaults, with_output(data.defaults, constants, &result.constants,
                                            [](ProgramBuilder& builder) { return builder.constant(0); })},
      {&TemplateData::shape, with_output(data.shape, constants, &result.constants,
                                         [&](ProgramBuilder& builder) { return builder.knob(knob); })}};
  for (const auto& [program, made] : programs) {
    if (!made) {
      return Error{made.error().code, data.name + " with several memories: " + made.error().message};
    }
    result.*program = *made;
  }
  return result;
}

Result<TemplateData> reduced(const TemplateData& data, const PackUse& use) {
  TemplateData result = data;
  std::vector<FoldCase> legal = served(all_cases(data, use), data, use);
  if (legal.empty()) {
    return result;  // no variant serves any workload: nothing is known
  }
  drop_compile_values(use, &result);
  drop_run_values(use, &legal, &result);
  const std::vector<FoldCase> all = all_cases(result, use);
  legal = served(all, result, use);
  const std::vector<int32_t> constants = data.constants.values();
  result.constants = ConstantPool();
  // Only legal configs have a shape, features and a predicted time.
  const struct {
    ProgramData TemplateData::*program;
    FoldOutputs outputs;
    const std::vector<FoldCase>* cases;
  } programs[] = {{&TemplateData::constraint, FoldOutputs::kTruth, &all},
                  {&TemplateData::defaults, FoldOutputs::kValues, &all},
                  {&TemplateData::shape, FoldOutputs::kValues, &legal},
                  {&TemplateData::features, FoldOutputs::kValues, &legal},
                  {&TemplateData::prior, FoldOutputs::kValues, &legal}};
  for (const auto& [program, outputs, cases] : programs) {
    Result<ProgramData> folded = fold_program(data.*program, constants, *cases, use.facts, outputs, &result.constants);
    if (!folded) {
      return Error{folded.error().code, data.name + ": " + folded.error().message};
    }
    result.*program = *folded;
  }
  return result;
}

}  // namespace temper
