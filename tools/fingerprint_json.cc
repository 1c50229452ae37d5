#include "tools/fingerprint_json.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/host_device.h"

namespace temper {

nlohmann::ordered_json fingerprint_json(const Fingerprint& fingerprint) {
  return {{"target", target_name_of(fingerprint.target_hash())},
          {"target_hash", hex_key(fingerprint.target_hash())},
          {"core_type", fingerprint.core_type()},
          {"cores", fingerprint.cores()},
          {"threads", fingerprint.threads()},
          {"vector_lanes", fingerprint.vector_lanes()},
          {"vector_registers", fingerprint.vector_registers()},
          {"l1d_bytes", fingerprint.l1d_bytes()},
          {"l2_bytes", fingerprint.l2_bytes()},
          {"l3_bytes", fingerprint.l3_bytes()},
          {"clock_khz", fingerprint.clock_khz()},
          {"copy_mb_s", fingerprint.copy_mb_s()},
          {"driver", fingerprint.driver()},
          {"pack_hash", fingerprint.pack_hash()},
          {"feature_version", fingerprint.feature_version()},
          {"clock_policy", fingerprint.clock_policy()}};
}

std::string fingerprint_text(const Fingerprint& f) {
  const std::string known = target_name_of(f.target_hash());
  const std::string target = known.empty() ? hex_key(f.target_hash()) : known;
  char text[320];
  std::snprintf(
      text, sizeof text,
      "target %.64s, core type %08x, %u cores, threads %u, vectors %u lanes x %u registers, caches %u/%u/%u KiB, "
      "clock %u MHz, copies %u MB/s, driver %08x, pack %08x, features %u",
      target.c_str(), f.core_type(), unsigned{f.cores()}, unsigned{f.threads()}, unsigned{f.vector_lanes()},
      unsigned{f.vector_registers()}, f.l1d_bytes() / 1024, f.l2_bytes() / 1024, f.l3_bytes() / 1024,
      f.clock_khz() / 1000, f.copy_mb_s(), f.driver(), f.pack_hash(), unsigned{f.feature_version()});
  return text;
}

std::string hex_key(uint64_t key) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(key));
  return text;
}

}  // namespace temper
