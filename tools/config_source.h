// Configs looked up on the host as an application would: the history, then tuned tables, then the default, each miss
// with its reason. Used by bench and lookup; measures nothing, writes nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/lookup.h"
#include "tools/host_device.h"
#include "tools/network_pack.h"

namespace temper {

struct ConfigFiles {
  std::string history;              ///< path; empty: the user's own, unless tables are named
  std::vector<std::string> tables;  ///< in order of asking
};

class ConfigSource {
 public:
  /// `pack` must outlive it. TEMPER_BAD_DATA or TEMPER_BAD_VERSION when a named file is not what it should be; a
  /// history that is absent or partly damaged is no error.
  static Result<std::unique_ptr<ConfigSource>> open(const ConfigFiles& files, const HostDevice& device,
                                                    NetworkPack* pack);
  ConfigSource(const ConfigSource&) = delete;
  ConfigSource& operator=(const ConfigSource&) = delete;

  /// TEMPER_NOT_FOUND when the workload's space holds no legal config.
  Status find(uint32_t workload, Config* config, temper_answer* answer) const;

  /// Sentences for the user: tables and histories of other devices, with the fields that differ; damage.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  ConfigSource(const HostDevice& device, NetworkPack* pack) : device_(device), pack_(pack) {}
  Result<bool> open_table(const std::string& path);
  Result<bool> open_history(const std::string& path);
  void place();
  void offer(const FrameView& frame);

  HostDevice device_;
  NetworkPack* pack_;
  Fingerprint fingerprint_{};
  std::vector<std::vector<uint64_t>> table_words_;
  std::vector<temper_table> tables_;
  std::vector<uint64_t> arena_memory_;
  CurrentSpace spaces_;
  Lookup lookup_;
  uint32_t history_differs_ = 0;  ///< decisive fields of fingerprints in the history that are not this device's
  bool history_matches_ = false;  ///< one of its fingerprints is this device's
  std::vector<std::string> remarks_;
};

}  // namespace temper
