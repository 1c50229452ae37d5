#include "schedules/pack_checksum.h"

#include <cstring>

#include "runtime/crc32.h"
#include "runtime/flatbuffers_config.h"
#include "runtime/pack_view.h"

namespace temper {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320u;

/// The state of the CRC before `bytes`, from the one behind them: every step of it can be taken back.
uint32_t state_before(uint32_t state, const uint8_t* bytes, size_t count) {
  while (count-- > 0) {
    for (int bit = 0; bit < 8; ++bit) {
      state = state >> 31 != 0 ? (state ^ kPolynomial) << 1 | 1u : state << 1;
    }
    state ^= bytes[count];
  }
  return state;
}

}  // namespace

bool seal_pack(std::vector<uint8_t>* pack) {
  PackView ignored;
  const PackFault fault = PackView::verify({pack->data(), pack->size(), nullptr, 0}, &ignored);
  if (fault == PackFault::kStructure) {
    return false;
  }
  const auto* const root = flatbuffers::GetRoot<flatbuffers::Table>(pack->data());
  const uint8_t* const field = root->GetAddressOf(format::Pack::VT_CRC);
  if (field == nullptr) {
    return false;
  }
  const size_t at = static_cast<size_t>(field - pack->data()), behind = at + sizeof(uint32_t);
  const uint32_t before = ~crc32(0, pack->data(), at);
  // The four bytes are XORed into the state as they are shifted out of it.
  const uint32_t value = before ^ state_before(state_before(~kPackCrc, pack->data() + behind, pack->size() - behind),
                                               reinterpret_cast<const uint8_t*>("\0\0\0\0"), sizeof(uint32_t));
  std::memcpy(pack->data() + at, &value, sizeof value);
  return true;
}

}  // namespace temper
