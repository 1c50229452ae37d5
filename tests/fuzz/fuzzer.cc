// libFuzzer's entries for the loader that TEMPER_FUZZ_LOADER names. Built by tools/fuzz alone, with Clang.
#define DOCTEST_CONFIG_IMPLEMENT  // for test_pack, which checks as tests do
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/fuzz/loaders.h"

namespace {

using temper::test::Bytes;

const temper::test::Loader& loader() {
  static const temper::test::Loader* const found = temper::test::find_loader(TEMPER_FUZZ_LOADER);
  return *found;
}

/// Where bytes may not move, because offsets lead to them: a few are changed where they are.
void change_in_place(Bytes* bytes, std::minstd_rand* random) {
  constexpr uint8_t kValues[] = {0, 1, 2, 4, 5, 14, 32, 33, 63, 64, 127, 128, 254, 255};
  for (uint32_t left = 1 + (*random)() % 4; left > 0 && !bytes->empty(); --left) {
    uint8_t& at = (*bytes)[(*random)() % bytes->size()];
    const uint32_t how = (*random)() % 4;
    at = how == 0   ? static_cast<uint8_t>((*random)())
         : how == 1 ? static_cast<uint8_t>(at ^ 1u << (*random)() % 8)
         : how == 2 ? static_cast<uint8_t>(at + (*random)() % 9 - 4)
                    : kValues[(*random)() % sizeof kValues];
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { return loader().run(data, size); }

// One in eight mutants keeps its wrong checksums.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  Bytes bytes(data, data + size);
  if (random() % 2 == 0) {
    change_in_place(&bytes, &random);
  } else {
    bytes.assign(data, data + LLVMFuzzerMutate(data, size, most));
  }
  if (random() % 8 != 0) {
    loader().repair(&bytes, static_cast<uint32_t>(random()));
  }
  const size_t kept = std::min(bytes.size(), most);
  if (kept != 0) {
    std::memcpy(data, bytes.data(), kept);
  }
  return kept;
}
