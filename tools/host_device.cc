#include "tools/host_device.h"

#include "codegen/generator_version.h"
#include "codegen/target.h"
#include "runtime/crc32.h"
#include "temper/port_linux.h"

namespace temper {
uint64_t target_hash_of(const std::string& target) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : target) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  }
  return hash;
}

std::string host_target_name() {
  const Target target = native_target();
  return target.triple.substr(0, target.triple.find('-')) + "-" + target.cpu;
}

std::string target_name_of(uint64_t target_hash) {
  std::vector<std::string> names = target_names();
  names.push_back(host_target_name());
  for (const std::string& name : names) {
    if (target_hash_of(name) == target_hash) {
      return name;
    }
  }
  return "";
}

Result<HostDevice> probe_host(uint32_t threads) {
  HostDevice device;
  const Status probed = temper_linux_probe(&device.facts);
  if (!probed.ok()) {
    return Error{probed.code(), std::string("this machine could not be probed: ") + temper_status_name(probed.code())};
  }
  const uint32_t cpus = temper_linux_cpu_count();
  if (threads > cpus) {
    return Error{TEMPER_INVALID_ARGUMENT, "--threads " + std::to_string(threads) + ": this process may use " +
                                              std::to_string(cpus) + (cpus == 1 ? " CPU" : " CPUs")};
  }
  device.facts.value[TEMPER_FACT_THREADS] = static_cast<int32_t>(threads == 0 ? 1 : threads);
  const Target target = native_target();
  device.target = host_target_name();
  device.facts.value[TEMPER_FACT_VECTOR_LANES] = target.lanes;
  device.facts.value[TEMPER_FACT_VECTOR_REGISTERS] = target.registers;
  char name[128];
  temper_linux_cpu_name(name, sizeof name);
  device.cpu_name = name;
  device.target_hash = target_hash_of(device.target);
  device.core_type = temper_linux_core_type();
  return device;
}

Fingerprint host_fingerprint(const HostDevice& device, const PackView& pack) {
  const uint32_t driver = crc32(0, &kGeneratorVersion, sizeof kGeneratorVersion);
  return make_fingerprint(device.target_hash, device.facts, device.core_type, driver, pack.pack_hash(),
                          pack.feature_version());
}

std::string fingerprint_fields_text(uint32_t fields) {
  std::string text;
  for (uint32_t bit = 0; bit < kFingerprintFieldCount; ++bit) {
    if ((fields >> bit & 1u) != 0) {
      text += std::string(text.empty() ? "" : ", ") + temper_fingerprint_field(bit);
    }
  }
  return text;
}

}  // namespace temper
