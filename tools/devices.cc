// `temper devices`: what this machine offers to tune on.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "temper/port_linux.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/host_device.h"
#include "tools/json_output.h"
#include "tools/text_table.h"

namespace temper {
namespace {

struct FactText {
  temper_fact fact;
  const char* key;  ///< of JSON, with its unit
  const char* words;
};
constexpr FactText kFacts[] = {
    {TEMPER_FACT_CORES, "cores", "cores"},
    {TEMPER_FACT_VECTOR_LANES, "vector_lanes", "f32 lanes of a vector"},
    {TEMPER_FACT_VECTOR_REGISTERS, "vector_registers", "vector registers"},
    {TEMPER_FACT_FMA_PER_CYCLE, "fma_per_cycle", "vector multiply-adds a cycle"},
    {TEMPER_FACT_FMA_LATENCY, "fma_latency_cycles", "their latency, cycles"},
    {TEMPER_FACT_L1D_BYTES, "l1d_bytes", "first-level data cache, bytes"},
    {TEMPER_FACT_L2_BYTES, "l2_bytes", "second level, a core's share, bytes"},
    {TEMPER_FACT_L3_BYTES, "l3_bytes", "third level, a core's share, bytes"},
    {TEMPER_FACT_CLOCK_KHZ, "clock_khz", "clock, kHz"},
    {TEMPER_FACT_COPY_MB_S, "copy_mb_s", "copies, MB/s"},
};

int run(const std::string& json) {
  const Result<HostDevice> device = probe_host(1);
  if (!device) {
    return report(device.error());
  }
  const uint32_t cpus = temper_linux_cpu_count();
  if (!json.empty()) {
    nlohmann::ordered_json facts = nlohmann::ordered_json::object();
    for (const FactText& fact : kFacts) {
      facts[fact.key] = device->facts.value[fact.fact];
    }
    const nlohmann::ordered_json root = {{"schema", 1},
                                         {"devices",
                                          {{{"kind", "cpu"},
                                            {"name", device->cpu_name},
                                            {"target", device->target},
                                            {"core_type", device->core_type},
                                            {"usable_cpus", cpus},
                                            {"facts", facts}}}}};
    const Result<bool> written = write_json(root, json);
    if (!written) {
      return report(written.error());
    }
  }
  if (json != "-") {
    TextTable table({{"fact"}, {"value", Align::kRight}});
    for (const FactText& fact : kFacts) {
      table.add_row({fact.words, std::to_string(device->facts.value[fact.fact])});
    }
    std::printf("cpu: %s\ntarget %s, core type %08x, %u CPUs usable by this process\n%s", device->cpu_name.c_str(),
                device->target.c_str(), device->core_type, cpus, table.text().c_str());
  }
  return kExitDone;
}

}  // namespace

void add_devices_command(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("devices", "Shows what this machine offers to tune on: its cores and their facts");
  auto json = std::make_shared<std::string>();
  command->add_option("--json", *json, "write them as JSON ('-': standard output)")->type_name("FILE|-");
  command->footer("Example: temper devices --json -");
  command->callback([json, exit_code] { *exit_code = run(*json); });
}

}  // namespace temper
