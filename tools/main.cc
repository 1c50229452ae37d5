// The `temper` command: finds the subcommand, reports wrong use, returns its exit code. Everything else is in the
// commands' own files.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/suggestion.h"

namespace temper {
namespace {

using AddCommand = void (*)(CLI::App&, int*);
constexpr AddCommand kCommands[] = {
    add_bake_command,    add_import_command,  add_tune_command,   add_bench_command,
    add_lookup_command,  add_inspect_command, add_merge_command,  add_collect_command,
    add_devices_command, add_build_command,   add_worker_command,
};

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) {
      names.push_back(command->get_name());
    }
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

int wrong_use(const std::string& what, const std::string& see) {
  std::fprintf(stderr, "temper: %s\nSee '%s --help'.\n", what.c_str(), see.c_str());
  return kExitWrongUse;
}

/// The word that names no command; empty when the first argument is a command or an option.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    return "";
  }
  const std::string word = argv[1];
  const auto named_so = [&](const CLI::App* command) { return command->get_name() == word; };
  return app.get_subcommands(named_so).empty() ? word : "";
}

int explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();  // those that were parsed
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string see = chosen.empty() ? "temper" : "temper " + command.get_name();
  const bool nothing_but_extras = chosen.empty() && !app.remaining().empty();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || nothing_but_extras) {
    std::vector<std::string> extras = app.remaining(/*recurse=*/true);
    const auto option = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
    std::stable_partition(extras.begin(), extras.end(), option);
    const std::string word = extras.empty() ? "" : extras.front().substr(0, extras.front().find('='));
    return option(word) ? wrong_use("unknown option '" + word + "'" + did_you_mean(word, option_names(command)), see)
                        : wrong_use("unexpected argument '" + word + "'", see);
  }
  return wrong_use(error.what(), see);
}

int run(int argc, char** argv) {
  CLI::App app("Tunes compute kernels on the device that runs them.", "temper");
  app.footer("Example: temper tune mobilenet_v2 --budget 60s");
  app.require_subcommand(1);
  app.set_version_flag("--version", "temper 0.1.0");
  int exit_code = kExitDone;
  for (const AddCommand add : kCommands) {
    add(app, &exit_code);
  }
  const std::string unknown = unknown_command(app, argc, argv);
  if (!unknown.empty()) {
    return wrong_use("'" + unknown + "' is not a command" + did_you_mean(unknown, command_names(app)), "temper");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    const int code = app.exit(help);
    std::fputs(dynamic_cast<const CLI::CallForHelp*>(&help) == nullptr ? "" : "\n",
               stdout);  // CLI11 ends at the footer
    return code;
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  return exit_code;
}

/// A file opened where standard output or error was closed would get what is printed written into it.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) < 0) {
      return;
    }
  }
}

/// Exit code 0 becomes that of a result that did not reach its reader.
int after_flush(int exit_code) {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) {
    return exit_code;
  }
  std::fprintf(stderr, "temper: standard output: cannot be written%s%s\n", errno != 0 ? ": " : "",
               errno != 0 ? std::strerror(errno) : "");
  return exit_code == kExitDone ? kExitEnvironment : exit_code;
}

int run_whole(int argc, char** argv) {
  fill_standard_descriptors();
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a status, not the end
  try {
    return after_flush(run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("temper: this machine has not enough memory for that\n", stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "temper: %s\n", failure.what());
  }
  return kExitEnvironment;
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) { return temper::run_whole(argc, argv); }
