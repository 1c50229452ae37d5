#include "tools/build_firmware.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/build_folder.h"
#include "tools/child_process.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLogTailLines = 25;

std::string build_folder(const FirmwareSettings& settings) { return settings.output + "/cmake"; }
std::string log_path(const FirmwareSettings& settings) { return settings.output + "/build.log"; }
std::string program_name(const FirmwareSettings& settings) {
  return settings.pack_object.empty() ? "winners_boot" : "first_boot";
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string tail(const std::string& text) {
  size_t begin = text.size();
  for (size_t lines = 0; begin > 0 && lines <= kLogTailLines; ++lines) {
    begin = text.rfind('\n', begin - 1);
    if (begin == std::string::npos) {
      return text;
    }
  }
  return text.substr(begin + 1);
}

Error log_error(const FirmwareSettings& settings, const std::string& what) {
  return {TEMPER_PORT_ERROR, what + "; the end of " + log_path(settings) + ":\n" + tail(read_text(log_path(settings)))};
}

std::vector<std::string> configure_command(const BuildKit& kit, const FirmwareSettings& settings) {
  const bool winners = settings.pack_object.empty();
  std::vector<std::string> command = {"cmake",
                                      "-S",
                                      kit.firmware(),
                                      "-B",
                                      build_folder(settings),
                                      "-G",
                                      "Ninja",
                                      "-DCMAKE_TOOLCHAIN_FILE=" + kit.toolchain,
                                      "-DCMAKE_BUILD_TYPE=Release",
                                      "-DTEMPER_BOARD=" + settings.board,
                                      "-DTEMPER_PACK_OBJECT=" + settings.pack_object,
                                      "-DTEMPER_PACK_NAME=" + (winners ? "" : settings.name),
                                      "-DTEMPER_WINNERS_ARCHIVE=" + settings.winners_archive,
                                      "-DTEMPER_WINNERS_NAME=" + (winners ? settings.name : ""),
                                      "-DTEMPER_BUDGET_MS=" + std::to_string(settings.budget_ms),
                                      "-DTEMPER_TRIALS=" + std::to_string(settings.trials),
                                      "-DTEMPER_MAX_TRIALS=" + std::to_string(settings.max_trials)};
  if (!winners) {
    command.push_back("-DTEMPER_PROFILE=" + settings.profile);
  }
  command.push_back("-DTEMPER_POOL_BYTES=" + (settings.pool_bytes == 0 ? "" : std::to_string(settings.pool_bytes)));
  return command;
}

/// Of a line "ADDRESS SIZE TYPE NAME" (nm -S) or "ADDRESS TYPE NAME": the number in column `column`, base 16.
uint64_t symbol_number(const std::string& symbols, const std::string& name, size_t column) {
  std::istringstream lines(symbols);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() <= name.size() || line.compare(line.size() - name.size() - 1, std::string::npos, " " + name) != 0) {
      continue;
    }
    std::istringstream words(line);
    std::string word;
    for (size_t i = 0; i <= column; ++i) {
      words >> word;
    }
    uint64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value, 16);
    return value;
  }
  return 0;
}

void read_symbols(const BuildKit& kit, const FirmwareSettings& settings, FirmwareResult* result) {
  const std::string folder = build_folder(settings);
  if (const Result<std::string> core = output_of({kit.nm, "-S", folder + "/temper/runtime/libtemper_runtime.a"})) {
    result->context_bytes = symbol_number(*core, "temper_layout_context", 1);
  }
  for (const char* suffix : {".elf", ""}) {
    const std::string program = folder + "/" + program_name(settings) + suffix;
    std::error_code ignored;
    const Result<std::string> symbols =
        fs::is_regular_file(program, ignored) ? output_of({kit.nm, program}) : Error{TEMPER_NOT_FOUND, ""};
    if (symbols) {
      result->stack_bytes = symbol_number(*symbols, "stack_top", 0) - symbol_number(*symbols, "stack_bottom", 0);
    }
  }
}

Error copy_failure(const fs::path& to, const std::error_code& error) {
  const bool full = error == std::errc::no_space_on_device;
  return {full ? TEMPER_STORAGE_FULL : TEMPER_STORAGE_ERROR, to.string() + ": cannot be written: " + error.message()};
}

/// A file appears under its name only when all of it is there.
Result<bool> copy_whole(const fs::path& from, const fs::path& to) {
  const fs::path part = to.string() + ".part";
  std::error_code error, ignored;
  fs::create_directories(to.parent_path(), error);
  if (!error) {
    fs::copy_file(from, part, fs::copy_options::overwrite_existing, error);
  }
  if (!error) {
    fs::rename(part, to, error);
  }
  if (error) {
    fs::remove(part, ignored);
    return copy_failure(to, error);
  }
  return true;
}

/// A file, or a folder of files.
Result<bool> copy_into(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::is_directory(from, error)) {
    return copy_whole(from, to);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
    if (Result<bool> copied = copy_into(entry.path(), to / entry.path().filename()); !copied) {
      return copied;
    }
  }
  return error ? Result<bool>(copy_failure(to, error)) : Result<bool>(true);
}

}  // namespace

Result<FirmwareResult> build_firmware(const BuildKit& kit, const FirmwareSettings& settings) {
  std::error_code ignored;
  fs::remove(log_path(settings), ignored);
  const Result<int> configured = run_logged(configure_command(kit, settings), log_path(settings));
  if (!configured) {
    return configured.error();
  }
  if (*configured != 0) {
    return log_error(settings, "the firmware could not be configured");
  }
  const Result<int> built = run_logged({"cmake", "--build", build_folder(settings)}, log_path(settings));
  if (!built) {
    return built.error();
  }
  FirmwareResult result;
  result.linked = *built == 0;
  result.overflows = parse_overflows(read_text(log_path(settings)));
  if (!result.linked && result.overflows.empty()) {
    return log_error(settings, "the firmware could not be built");
  }
  result.map = parse_link_map(read_text(build_folder(settings) + "/" + program_name(settings) + ".map"));
  result.board = read_board_facts(build_folder(settings));
  read_symbols(kit, settings, &result);
  return result;
}

Result<bool> collect_results(const BuildKit& kit, const FirmwareSettings& settings) {
  const fs::path from = build_folder(settings), to = settings.output;
  std::error_code ignored;
  for (const std::string& name : firmware_programs()) {
    const bool made = (name == "winners_boot") == settings.pack_object.empty();  // the rest is of an earlier build
    for (const char* suffix : {".elf", "", ".map"}) {
      const fs::path program = from / (name + suffix);
      if (made && fs::is_regular_file(program, ignored)) {
        if (Result<bool> copied = copy_into(program, to / program.filename()); !copied) {
          return copied;
        }
      }
    }
  }
  for (const auto& [source, target] :
       {std::pair(from / "emulate", to / "emulate"),
        std::pair(from / "temper/runtime/libtemper_runtime.a", to / "lib/libtemper_runtime.a"),
        std::pair(from / "temper/runtime/libtemper_port_linux.a", to / "lib/libtemper_port_linux.a"),
        std::pair(fs::path(kit.root) / "runtime/include/temper", to / "include/temper")}) {
    if (fs::exists(source, ignored)) {
      if (Result<bool> copied = copy_into(source, target); !copied) {
        return copied;
      }
    }
  }
  return true;
}

Result<bool> link_loadable_pack(const BuildKit& kit, const FirmwareSettings& settings) {
  const std::string symbol = settings.name + "_pack";
  const Result<int> linked = run_logged(
      {kit.compiler, "-shared", "-nostdlib", "-Wl,-z,noexecstack", "-Wl,--defsym=temper_loadable_pack=" + symbol, "-o",
       settings.output + "/" + symbol + ".so", settings.pack_object},
      log_path(settings));
  if (!linked) {
    return linked.error();
  }
  return *linked == 0 ? Result<bool>(true) : log_error(settings, symbol + ".so could not be linked");
}

}  // namespace temper
