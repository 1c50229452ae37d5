#include "tools/prepacked_constants.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>

#include "tools/whole_file.h"

namespace temper {
namespace {

static_assert(std::endian::native == std::endian::little, "files of constants are read as they are");

constexpr size_t kAlignment = 64;

bool is_word(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

Result<std::vector<float>> read_constant(const std::string& path, uint32_t elements) {
  size_t bytes = 0;
  const Result<std::vector<uint64_t>> words = read_whole_file(path, &bytes);
  if (!words) {
    return words.error();
  }
  if (bytes != size_t{elements} * sizeof(float)) {
    return Error{TEMPER_BAD_DATA, path + ": has " + std::to_string(bytes) + " bytes; the constant operand has " +
                                      std::to_string(elements) + " elements of 4"};
  }
  std::vector<float> constant(elements);
  std::memcpy(constant.data(), words->data(), bytes);
  return constant;
}

}  // namespace

std::vector<std::string> constant_files(const std::string& folder, const std::string& name, uint32_t count) {
  std::vector<std::string> paths;
  for (uint32_t i = 0; i < count; ++i) {
    std::string file = file_name_of(name);
    if (count > 1) {
      file += '.';
      file += std::to_string(i);
    }
    paths.push_back((std::filesystem::path(folder) / (file + ".f32")).string());
  }
  return paths;
}

Result<ConstantTensors> read_constants(const std::string& folder, const std::string& name, uint32_t count,
                                       uint32_t elements) {
  ConstantTensors constants;
  std::string missing;
  for (const std::string& path : constant_files(folder, name, count)) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      missing = path;
      continue;
    }
    Result<std::vector<float>> constant = read_constant(path, elements);
    if (!constant) {
      return constant.error();
    }
    constants.push_back(std::move(*constant));
  }
  if (!constants.empty() && !missing.empty()) {
    return Error{TEMPER_NOT_FOUND, missing + ": no such file, but other occurrences of " + name + " (" +
                                       std::to_string(count) + " in all) have theirs; give all of them or none"};
  }
  return constants;
}

Result<std::vector<uint8_t>> pack_constant(const temper_plan& plan, const std::vector<float>& constant) {
  std::vector<uint8_t> memory(plan.packed_bytes + kAlignment);
  void* at = memory.data();
  size_t room = memory.size();
  std::align(kAlignment, plan.packed_bytes, at, room);
  const temper_status status = temper_pack_constant(&plan, constant.data(), at, plan.packed_bytes);
  if (status != TEMPER_OK) {
    return Error{status, std::string("a constant cannot be packed: ") + temper_status_name(status)};
  }
  const uint8_t* const packed = static_cast<const uint8_t*>(at);
  return std::vector<uint8_t>(packed, packed + plan.packed_bytes);
}

std::string file_name_of(const std::string& name) {
  std::string file = name;
  std::replace_if(
      file.begin(), file.end(), [](char c) { return !is_word(c) && c != '-' && c != '.'; }, '_');
  return file;
}

std::string identifier_of(const std::string& name) {
  std::string identifier = name;
  std::replace_if(
      identifier.begin(), identifier.end(), [](char c) { return !is_word(c); }, '_');
  const bool digit = !identifier.empty() && identifier[0] >= '0' && identifier[0] <= '9';
  if (digit || identifier.empty()) {
    identifier.insert(identifier.begin(), '_');
  }
  return identifier == "temper" ? "_temper" : identifier;  // temper_pack and temper_winners are types
}

}  // namespace temper
