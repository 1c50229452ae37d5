// `temper worker --fd N`: the hidden entry of the worker processes that tune and bench spawn. Not for people: not in
// the help.
#include <CLI/CLI.hpp>
#include <memory>

#include "codegen/worker.h"
#include "tools/commands.h"

namespace temper {

void add_worker_command(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("worker", "Serves a parent process")->group("");
  auto fd = std::make_shared<int>(-1);
  command->add_option("--fd", *fd, "socket to the parent")->required()->check(CLI::NonNegativeNumber);
  command->callback([fd, exit_code] { *exit_code = run_worker(*fd, jit_backend()); });
}

}  // namespace temper
