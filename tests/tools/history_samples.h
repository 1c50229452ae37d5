// Histories for tests of the command: random records written by the device core, and the forms they are pulled off a
// board in. Every part of a record that a reader could mix up differs from the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/history.h"

namespace temper::test {

struct SampleSize {
  uint32_t fingerprints = 2, workloads = 3, trials = 20, commits = 4;
  uint32_t open_intents = 1;  ///< each the last frame of the history's boots, as a crash leaves it
  uint32_t program_bytes = 1;
  uint64_t variety = 4;  ///< how many different values times and knobs take: a small one makes duplicates
};

/// The bytes of a history on a board's storage, without an erased tail.
std::vector<uint8_t> sample_history(uint64_t seed, const SampleSize& size = {});

/// As a first-boot program prints it: temper-history-begin BYTES, Intel HEX records of 32 bytes, temper-history-end.
std::string console_dump(const std::vector<uint8_t>& history, const std::string& line_end = "\n",
                         const std::string& prefix = "");

}  // namespace temper::test
