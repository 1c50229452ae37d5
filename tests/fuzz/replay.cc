// Runs a loader over every file of a corpus: fuzz_replay LOADER FILE_OR_FOLDER... Fails when there is none, so that a
// corpus that was lost is noticed. What breaks ends the process, with the file named before.
#define DOCTEST_CONFIG_IMPLEMENT  // for test_pack, which checks as tests do
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/fuzz/files.h"
#include "tests/fuzz/loaders.h"

namespace temper::test {
namespace {

std::vector<std::filesystem::path> files_at(const std::filesystem::path& place) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(place)) {
    return {place};
  }
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int replay(const Loader& loader, const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& path : files) {
    const Bytes bytes = read_file(path);
    std::fprintf(stderr, "%s\n", path.c_str());
    loader.run(bytes.data(), bytes.size());
  }
  std::printf("%zu files, nothing broken\n", files.size());
  return files.empty() ? 1 : 0;
}

}  // namespace
}  // namespace temper::test

int main(int argument_count, char** arguments) {
  using namespace temper::test;
  const Loader* const loader = argument_count > 2 ? find_loader(arguments[1]) : nullptr;
  if (loader == nullptr) {
    std::fputs("usage: fuzz_replay LOADER FILE_OR_FOLDER...; loaders:", stderr);
    for (const Loader& known : all_loaders()) {
      std::fprintf(stderr, " %s", std::string(known.name).c_str());
    }
    std::fputs("\n", stderr);
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (int i = 2; i < argument_count; ++i) {
    const std::vector<std::filesystem::path> found = files_at(arguments[i]);
    files.insert(files.end(), found.begin(), found.end());
  }
  return replay(*loader, files);
}
