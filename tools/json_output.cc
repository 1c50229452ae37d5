#include "tools/json_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tools/whole_file.h"

namespace temper {

Result<bool> write_json(const nlohmann::ordered_json& value, const std::string& target) {
  const std::string text = value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (target != "-") {
    return write_whole_file(target, text);
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    const int error = errno;
    return Error{error == ENOSPC ? TEMPER_STORAGE_FULL : TEMPER_STORAGE_ERROR,
                 std::string("standard output: cannot be written: ") + std::strerror(error)};
  }
  return true;
}

}  // namespace temper
