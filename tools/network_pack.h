// A network's workloads as a pack in memory: spaces without variants, for the JIT. Made by tune and bench; owns what it
// views.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/space.h"
#include "schedules/network.h"
#include "temper/kernel.h"

namespace temper {

class NetworkPack {
 public:
  /// Digests stay 0: the runner computes those that it needs.
  static Result<std::unique_ptr<NetworkPack>> create(const Network& network, const std::string& target);
  NetworkPack(const NetworkPack&) = delete;
  NetworkPack& operator=(const NetworkPack&) = delete;

  const temper_pack& pack() const { return pack_; }
  const PackView& view() const { return view_; }
  /// Canonical texts in the pack's order, which is the network's.
  std::vector<std::string> texts() const;
  const Network& network() const { return network_; }
  /// One workload's space; all share one scratch, so use one at a time.
  Space space(uint32_t workload, const temper_facts* facts);
  Scratch scratch() { return {values_.data(), intervals_.data()}; }  ///< what they share

 private:
  explicit NetworkPack(const Network& network) : network_(network) {}

  Network network_;
  std::vector<uint64_t> words_;  ///< 64-bit words keep the alignment that a pack needs
  temper_pack pack_{};
  PackView view_;
  std::vector<int32_t> values_;
  std::vector<Interval> intervals_;
};

}  // namespace temper
