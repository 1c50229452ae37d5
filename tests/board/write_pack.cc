// Makes the kernel pack of ds_cnn for a target, as `temper build` does, for the boot tests: write_pack TARGET OUTPUT.o
// LIMIT_BYTES [MEMORIES]. The object defines ds_cnn_pack.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "codegen/kernel_pack.h"
#include "schedules/network.h"

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

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fputs("usage: write_pack TARGET OUTPUT.o LIMIT_BYTES [MEMORIES]\n", stderr);
    return 2;
  }
  const temper::Result<temper::KernelPack> pack =
      temper::make_pack(argv[1], std::strtoull(argv[3], nullptr, 10), argc > 4 ? std::atoi(argv[4]) : 1);
  if (!pack.ok()) {
    std::fprintf(stderr, "write_pack: %s\n", pack.error().message.c_str());
    return 3;
  }
  std::ofstream file(argv[2], std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(pack->object.bytes.data()),
             static_cast<std::streamsize>(pack->object.bytes.size()));
  file.close();
  std::printf("%s: %zu kernels, %u bytes, data %zu bytes\n", argv[1], pack->variants.size(), pack->kernel_bytes,
              pack->data.size());
  return file ? 0 : 4;
}
