// Builds a kernel pack from a text file: workloads and variants in, one object file out that defines NAME_pack and can
// be linked into firmware. Called by the builds of the board firmware and of the example; thin, the work is
// write_pack's and compile_pack's.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/kernel_compiler.h"
#include "schedules/fixed_dims.h"

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
  const char* const lacking = spec.target.empty()      ? "target"
                              : spec.workloads.empty() ? "workload"
                              : spec.variants.empty()  ? "variant"
                                                       : nullptr;
  if (lacking != nullptr) {
    return Error{TEMPER_BAD_DATA, path + ": has no " + lacking + " line; pack_builder --help shows the form"};
  }
  return spec;
}

Result<ObjectFile> build_pack(const PackSpec& spec, const std::string& name, const std::vector<uint8_t>& data) {
  const Result<Target> target = find_target(spec.target);
  if (!target.ok()) {
    return target.error();
  }
  std::vector<KernelRequest> requests;
  for (const PackVariant& variant : spec.variants) {
    std::vector<int32_t> knobs(variant.values.begin(), variant.values.end());
    knobs.resize(find_counts(static_cast<int>(variant.template_id))->count, 0);
    requests.push_back({.template_id = variant.template_id,
                        .mode = KernelMode::kPack,
                        .dims = {},
                        .knobs = knobs,
                        .symbol = name + "_kernel_" + std::to_string(variant.kernel),
                        .fixed = variant.fixed});
  }
  return compile_pack(*target, name, data, requests);
}

Result<bool> write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file ? Result<bool>(true) : Result<bool>(Error{TEMPER_STORAGE_ERROR, path + ": cannot be written"});
}

/// The object, and where `data_output` is not empty the pack's data alone, as `temper inspect` reads it.
Result<bool> run(const std::string& spec_path, const std::string& name, const std::string& output,
                 const std::string& data_output) {
  Result<PackSpec> spec = read_spec(spec_path);
  if (!spec.ok()) {
    return spec.error();
  }
  if (Result<bool> fixed = fix_dims(spec->workloads, &spec->variants); !fixed.ok()) {
    return fixed.error();
  }
  const Result<std::vector<uint8_t>> data =
      write_pack(spec->workloads, {.target = spec->target, .variants = spec->variants});
  if (!data.ok()) {
    return Error{data.error().code, spec_path + ": " + data.error().message};
  }
  const Result<ObjectFile> object = build_pack(*spec, name, *data);
  if (!object.ok()) {
    return object.error();
  }
  const Result<bool> written = write_file(output, object->bytes);
  return !written || data_output.empty() ? written : write_file(data_output, *data);
}

constexpr const char* kUsage = R"(usage: pack_builder SPEC NAME OUTPUT.o [DATA.pack]

Compiles a kernel pack: OUTPUT.o defines the C object NAME_pack (a temper_pack); DATA.pack is its data, for temper inspect.
SPEC is a text file:
  target NAME                         native, x86_64-linux, aarch64-linux, armv7-linux, riscv64-linux, cortex-m4, ...
  workload NAME CANONICAL TEXT        as temper inspect prints them for a .workloads file
  variant TEMPLATE VALUE...           one kernel: template 1 (gemm: tile_m vectors lanes unroll_k a b; a: 0 in place, 1 panels,
                                      2 rows, 3 packed constant; b: 0, 1 or 3) or 2 (depthwise: tile_w tile_h vectors lanes)
  # comment
temper lookup NET prints the values of each workload's default to start from.
)";

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") {
    std::fputs(temper::kUsage, stdout);
    return 0;
  }
  if (argc != 4 && argc != 5) {
    std::fputs(temper::kUsage, stderr);
    return 2;
  }
  const temper::Result<bool> result = temper::run(argv[1], argv[2], argv[3], argc == 5 ? argv[4] : "");
  if (!result.ok()) {
    std::fprintf(stderr, "pack_builder: %s\n", result.error().message.c_str());
    return 3;
  }
  return 0;
}
