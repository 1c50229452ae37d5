// The subcommands of `temper`. main.cc calls each once; a command adds itself to `app` and, when it was chosen, runs in
// its callback and sets *exit_code. A new command: one line here, one in main.cc, one file.
#pragma once

namespace CLI {
class App;
}

namespace temper {

void add_bake_command(CLI::App& app, int* exit_code);
void add_bench_command(CLI::App& app, int* exit_code);
void add_build_command(CLI::App& app, int* exit_code);
void add_collect_command(CLI::App& app, int* exit_code);
void add_devices_command(CLI::App& app, int* exit_code);
void add_import_command(CLI::App& app, int* exit_code);
void add_inspect_command(CLI::App& app, int* exit_code);
void add_lookup_command(CLI::App& app, int* exit_code);
void add_merge_command(CLI::App& app, int* exit_code);
void add_tune_command(CLI::App& app, int* exit_code);
/// Hidden: what the worker processes run.
void add_worker_command(CLI::App& app, int* exit_code);

}  // namespace temper
