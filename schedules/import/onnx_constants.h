// Values of constants: read from the model, and folded where an epilogue or a scale asks for it. Called by the importer
// for the epilogue's legality (clip bounds) and, when steps are wanted, once per step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedules/import/onnx_epilogue.h"

namespace temper {

/// TEMPER_UNSUPPORTED when the values are not f32 or lie in another file; TEMPER_BAD_DATA when there are more or fewer
/// than the shape says.
Result<TensorData> read_constant(const onnx::TensorProto& tensor);

/// Puts the constants of a step into *constants: as they are, or folded under a new name, to which the operand then
/// points.
Result<bool> collect_constants(const OnnxGraph& graph, FusedNode* node, std::map<std::string, TensorData>* constants);

}  // namespace temper
