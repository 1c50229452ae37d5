#include "tools/network_argument.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>

#include "tools/suggestion.h"

namespace temper {
namespace {

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

bool parse_size(const std::string& text, int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

/// Sizes between 'x'; false when one is no whole number.
bool parse_shape(const std::string& text, std::vector<int64_t>* out) {
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find('x', begin), text.size());
    int64_t size = 0;
    if (!parse_size(text.substr(begin, end - begin), &size)) {
      return false;
    }
    out->push_back(size);
    begin = end + 1;
  }
  return true;
}

}  // namespace

void add_network_argument(CLI::App& command, NetworkArgument* argument) {
  command.add_option("NET", argument->network, "ONNX file, .workloads file, or built-in network")->required();
  add_import_options(command, argument);
}

void add_import_options(CLI::App& command, NetworkArgument* argument) {
  command.add_option("--shape", argument->shapes, "shape of a graph input: NAME=1x3x224x224")->type_name("NAME=SHAPE");
  command.add_option("--dimension", argument->dimensions, "value of a named dynamic dimension: NAME=N")
      ->type_name("NAME=N");
}

Result<ImportOptions> import_options(const NetworkArgument& argument) {
  ImportOptions options;
  for (const std::string& text : argument.shapes) {
    const size_t equals = text.rfind('=');
    std::vector<int64_t> shape;
    if (equals == std::string::npos || equals == 0 || !parse_shape(text.substr(equals + 1), &shape)) {
      return Error{TEMPER_INVALID_ARGUMENT, "--shape " + text + ": write NAME=1x3x224x224"};
    }
    options.input_shapes[text.substr(0, equals)] = shape;
  }
  for (const std::string& text : argument.dimensions) {
    const size_t equals = text.rfind('=');
    int64_t size = 0;
    if (equals == std::string::npos || equals == 0 || !parse_size(text.substr(equals + 1), &size)) {
      return Error{TEMPER_INVALID_ARGUMENT, "--dimension " + text + ": write NAME=N"};
    }
    options.dimensions[text.substr(0, equals)] = size;
  }
  return options;
}

Result<Network> resolve_network(const std::string& network, const ImportOptions& options) {
  const std::vector<std::string> names = built_in_networks();
  const bool built_in = std::find(names.begin(), names.end(), network) != names.end();
  const bool sizes_known = built_in || ends_with(network, ".workloads") || ends_with(network, ".json");
  if (sizes_known && !(options.input_shapes.empty() && options.dimensions.empty())) {
    return Error{TEMPER_INVALID_ARGUMENT,
                 "--shape and --dimension are for ONNX files; " + network + " states its sizes"};
  }
  if (built_in) {
    return built_in_network(network);
  }
  std::error_code ignored;
  const bool looks_like_a_path = network.find_first_of("/.") != std::string::npos;
  if (!std::filesystem::exists(network, ignored)) {
    if (looks_like_a_path) {
      return Error{TEMPER_NOT_FOUND, network + ": no such file"};
    }
    std::string known;
    for (const std::string& name : names) {
      known += " " + name;
    }
    return Error{TEMPER_INVALID_ARGUMENT, "'" + network + "' is no file and no built-in network" +
                                              did_you_mean(network, names) + " Built in:" + known};
  }
  if (!std::filesystem::is_regular_file(network, ignored)) {
    return Error{TEMPER_BAD_DATA, network + ": is a folder, a pipe or a device, not a file"};
  }
  return sizes_known ? read_workloads_file(network) : import_onnx(network, options);
}

Result<Network> resolve_network(const NetworkArgument& argument) {
  Result<ImportOptions> options = import_options(argument);
  if (!options) {
    return options.error();
  }
  return resolve_network(argument.network, *options);
}

}  // namespace temper
