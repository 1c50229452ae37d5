#include "tools/network_pack.h"

#include <cstring>

#include "schedules/spaces.h"

namespace temper {

Result<std::unique_ptr<NetworkPack>> NetworkPack::create(const Network& network, const std::string& target) {
  PackOptions options;
  options.target = target;
  options.digests = false;
  const Result<std::vector<uint8_t>> bytes = write_pack(network.workloads, options);
  if (!bytes) {
    return bytes.error();
  }
  std::unique_ptr<NetworkPack> made(new NetworkPack(network));
  made->words_.resize((bytes->size() + 7) / 8);
  std::memcpy(made->words_.data(), bytes->data(), bytes->size());
  made->pack_ = temper_pack{made->words_.data(), bytes->size(), nullptr, 0};
  const char* reason = "";
  const Status opened = PackView::open(made->pack_, &made->view_, &reason);
  if (!opened.ok()) {
    return Error{opened.code(), network.name + ": the spaces do not verify: " + reason};
  }
  made->values_.resize(made->view_.scratch_values());
  made->intervals_.resize(made->view_.scratch_intervals());
  return made;
}

std::vector<std::string> NetworkPack::texts() const {
  std::vector<std::string> texts;
  for (const NetworkWorkload& workload : network_.workloads) {
    texts.push_back(canonical_text(workload.workload));
  }
  return texts;
}

Space NetworkPack::space(uint32_t workload, const temper_facts* facts) {
  return Space(&view_, workload, facts, Scratch{values_.data(), intervals_.data()});
}

}  // namespace temper
