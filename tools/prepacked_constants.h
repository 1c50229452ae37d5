// Constant operands read from files and packed for a plan on the host, by the runtime's own code: what `temper bake
// --constants` places in ROM. Called by bake; writes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/result.h"
#include "temper/temper.h"

namespace temper {

/// One workload's constant operand for each of its occurrences; empty: the folder has none of it.
using ConstantTensors = std::vector<std::vector<float>>;

/// Reads NAME.f32 of a workload that occurs once, NAME.0.f32, NAME.1.f32, ... else: f32, little-endian, `elements` of
/// them. Characters of NAME but letters, digits, '_', '-' and '.' are '_' in file names. TEMPER_NOT_FOUND when some
/// occurrences have a file and others not, TEMPER_BAD_DATA when one is of another size; the message names the file.
Result<ConstantTensors> read_constants(const std::string& folder, const std::string& name, uint32_t count,
                                       uint32_t elements);

/// The files that read_constants looks for, in the order of occurrences.
std::vector<std::string> constant_files(const std::string& folder, const std::string& name, uint32_t count);

/// The constant as the plan's kernel reads it. The plan packs one of at least as many elements as `constant` has.
Result<std::vector<uint8_t>> pack_constant(const temper_plan& plan, const std::vector<float>& constant);

/// NAME as it is written in file names; and as a C identifier, likewise.
std::string file_name_of(const std::string& name);
std::string identifier_of(const std::string& name);

}  // namespace temper
