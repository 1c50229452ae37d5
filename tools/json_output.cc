#include "tools/json_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace temper {
namespace {

Error failure(const std::string& target) {
  const int error = errno;
  return Error{error == ENOSPC ? TEMPER_STORAGE_FULL : TEMPER_STORAGE_ERROR,
               target + ": cannot be written: " + std::strerror(error)};
}

}  // namespace

Result<bool> write_json(const nlohmann::ordered_json& value, const std::string& target) {
  const std::string text = value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (target == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      return failure("standard output");
    }
    return true;
  }
  const std::string part = target + ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) {
    return failure(target);
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written || std::rename(part.c_str(), target.c_str()) != 0) {
    const Error error = failure(target);
    std::remove(part.c_str());
    return error;
  }
  return true;
}

}  // namespace temper
