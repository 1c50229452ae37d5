// Builds a kernel pack from a text file: workloads and variants in, one object file out that defines NAME_pack and can
// be linked into firmware. Called by the builds of the board firmware and of the example; thin, the work is
// write_pack's and compile_pack's.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/kernel_compiler.h"
#include "schedules/spaces.h"

namespace temper {
namespace {

/// A pack spec: lines "target NAME", "workload NAME CANONICAL TEXT", "variant TEMPLATE-ID VALUE..." (one value per
/// compile knob, in knob order); empty lines and those that begin with # are comments.
struct PackSpec {
  std::string target;
  std::vector<NetworkWorkload> workloads;
  std::vector<PackVariant> variants;
};

struct KnobCounts {
  TemplateId template_id;
  size_t compile_count, count;
};
constexpr KnobCounts kKnobCounts[] = {{TemplateId::kGemm, kKnobBlockM, kGemmKnobCount},
                                      {TemplateId::kDepthwise, kDwKnobOrder, kDepthwiseKnobCount}};

const KnobCounts* find_counts(int template_id) {
  for (const KnobCounts& counts : kKnobCounts) {
    if (static_cast<int>(counts.template_id) == template_id) {
      return &counts;
    }
  }
  return nullptr;
}

Result<NetworkWorkload> parse_workload_line(std::istringstream& line) {
  NetworkWorkload result;
  line >> result.name >> std::ws;
  std::string text;
  std::getline(line, text);
  const Result<Workload> workload = parse_workload(text);
  if (!workload.ok()) {
    return workload.error();
  }
  result.workload = *workload;
  return result;
}

Result<PackVariant> parse_variant_line(std::istringstream& line, size_t index) {
  int template_id = 0;
  line >> template_id;
  const KnobCounts* const counts = find_counts(template_id);
  if (counts == nullptr) {
    return Error{TEMPER_BAD_DATA, "unknown template id"};
  }
  PackVariant variant{counts->template_id, {}, static_cast<uint16_t>(index)};
  for (uint16_t value = 0; line >> value;) {
    variant.values.push_back(value);
  }
  if (!line.eof() || variant.values.size() != counts->compile_count) {
    return Error{TEMPER_BAD_DATA, "the template has " + std::to_string(counts->compile_count) + " compile knobs"};
  }
  return variant;
}

Result<bool> parse_line(const std::string& text, PackSpec* spec) {
  std::istringstream line(text);
  std::string word;
  line >> word;
  if (word.empty() || word[0] == '#') {
    return true;
  }
  if (word == "target") {
    line >> spec->target;
    return true;
  }
  if (word == "workload") {
    const Result<NetworkWorkload> workload = parse_workload_line(line);
    if (!workload.ok()) {
      return workload.error();
    }
    spec->workloads.push_back(*workload);
    return true;
  }
  if (word == "variant") {
    const Result<PackVariant> variant = parse_variant_line(line, spec->variants.size());
    if (!variant.ok()) {
      return variant.error();
    }
    spec->variants.push_back(*variant);
    return true;
  }
  return Error{TEMPER_BAD_DATA, "a line begins with target, workload, variant or #"};
}

Result<PackSpec> read_spec(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Error{TEMPER_NOT_FOUND, path + ": cannot be read"};
  }
  PackSpec spec;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    const Result<bool> parsed = parse_line(text, &spec);
    if (!parsed.ok()) {
      return Error{parsed.error().code, path + ":" + std::to_string(number) + ": " + parsed.error().message};
    }
  }
  if (spec.target.empty() || spec.workloads.empty() || spec.variants.empty()) {
    return Error{TEMPER_BAD_DATA, path + ": needs a target, a workload and a variant"};
  }
  return spec;
}

Result<ObjectFile> build_pack(const PackSpec& spec, const std::string& name) {
  const Result<Target> target = find_target(spec.target);
  if (!target.ok()) {
    return target.error();
  }
  const Result<std::vector<uint8_t>> data =
      write_pack(spec.workloads, {.target = spec.target, .variants = spec.variants});
  if (!data.ok()) {
    return data.error();
  }
  std::vector<KernelRequest> requests;
  for (const PackVariant& variant : spec.variants) {
    std::vector<int32_t> knobs(variant.values.begin(), variant.values.end());
    knobs.resize(find_counts(static_cast<int>(variant.template_id))->count, 0);
    requests.push_back({.template_id = variant.template_id,
                        .mode = KernelMode::kPack,
                        .dims = {},
                        .knobs = knobs,
                        .symbol = name + "_kernel_" + std::to_string(variant.kernel)});
  }
  return compile_pack(*target, name, *data, requests);
}

Result<bool> run(const std::string& spec_path, const std::string& name, const std::string& output) {
  const Result<PackSpec> spec = read_spec(spec_path);
  if (!spec.ok()) {
    return spec.error();
  }
  const Result<ObjectFile> object = build_pack(*spec, name);
  if (!object.ok()) {
    return object.error();
  }
  std::ofstream file(output, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(object->bytes.data()), static_cast<std::streamsize>(object->bytes.size()));
  file.close();
  if (!file) {
    return Error{TEMPER_STORAGE_ERROR, output + ": cannot be written"};
  }
  return true;
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: pack_builder SPEC NAME OUTPUT.o\n");
    return 2;
  }
  const temper::Result<bool> result = temper::run(argv[1], argv[2], argv[3]);
  if (!result.ok()) {
    std::fprintf(stderr, "pack_builder: %s\n", result.error().message.c_str());
    return 3;
  }
  return 0;
}
