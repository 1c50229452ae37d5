// NET on the command line: an ONNX file, a .workloads file or the name of a built-in network, with the options that an
// import takes. The one place where it is resolved; used by every command that works on a network.
#pragma once

#include <string>
#include <vector>

#include "schedules/import/onnx_import.h"
#include "schedules/network.h"

namespace CLI {
class App;
}

namespace temper {

struct NetworkArgument {
  std::string network;
  std::vector<std::string> shapes;      ///< NAME=1x3x48x192
  std::vector<std::string> dimensions;  ///< NAME=N
};

/// Adds the positional NET and the options --shape and --dimension. `argument` must outlive the parse.
void add_network_argument(CLI::App& command, NetworkArgument* argument);
/// The options alone, for commands whose positional arguments are something else.
void add_import_options(CLI::App& command, NetworkArgument* argument);

/// TEMPER_INVALID_ARGUMENT when a shape or dimension is not of its form.
Result<ImportOptions> import_options(const NetworkArgument& argument);

/// TEMPER_INVALID_ARGUMENT for a name that is no file and no built-in network (with a suggestion), TEMPER_NOT_FOUND for
/// a path that does not exist, else what the importer or the .workloads reader says.
Result<Network> resolve_network(const std::string& network, const ImportOptions& options);
Result<Network> resolve_network(const NetworkArgument& argument);

}  // namespace temper
