// Makes the kernel pack of ds_cnn for a target, as `temper build` does, for the boot tests: write_pack TARGET OUTPUT.o
// LIMIT_BYTES PLAN.h [MEMORIES]. The object defines ds_cnn_pack; the plan is for planted/kernels.c.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "codegen/kernel_pack.h"
#include "schedules/network.h"
#include "tests/board/planted/write_plan.h"

namespace temper {
namespace {

Result<KernelPack> make_pack(const char* target_name, uint64_t limit_bytes, int32_t memories) {
  const Result<Target> target = find_target(target_name);
  if (!target.ok()) {
    return target.error();
  }
  const Result<Network> network = built_in_network("ds_cnn");
  if (!network.ok()) {
    return network.error();
  }
  KernelPackOptions options;
  options.target = *target;
  options.facts = target->facts;
  options.facts.value[TEMPER_FACT_MEMORIES] = memories;
  options.name = "ds_cnn";
  options.limit_bytes = limit_bytes;
  options.machine = PackMachine::kNominal;
  options.features = PackFeatures::kLeftOut;
  return make_kernel_pack(network->workloads, options);
}

bool write_file(const char* path, const void* bytes, size_t size) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  file.close();
  return static_cast<bool>(file);
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fputs("usage: write_pack TARGET OUTPUT.o LIMIT_BYTES PLAN.h [MEMORIES]\n", stderr);
    return 2;
  }
  const uint64_t limit = std::strtoull(argv[3], nullptr, 10);
  const temper::Result<temper::KernelPack> pack = temper::make_pack(argv[1], limit, argc > 5 ? std::atoi(argv[5]) : 1);
  if (!pack.ok()) {
    std::fprintf(stderr, "write_pack: %s\n", pack.error().message.c_str());
    return 3;
  }
  const temper::Result<std::string> plan = temper::planted_plan(*pack);
  if (!plan.ok()) {
    std::fprintf(stderr, "write_pack: %s\n", plan.error().message.c_str());
    return 3;
  }
  std::printf("%s: %zu kernels, %u bytes, data %zu bytes\n", argv[1], pack->variants.size(), pack->kernel_bytes,
              pack->data.size());
  if (pack->kernel_bytes + pack->data.size() > limit) {
    std::fprintf(stderr, "write_pack: more than the limit of %s bytes\n", argv[3]);
    return 1;
  }
  const std::vector<uint8_t>& object = pack->object.bytes;
  return temper::write_file(argv[2], object.data(), object.size()) &&
                 temper::write_file(argv[4], plan->data(), plan->size())
             ? 0
             : 4;
}
