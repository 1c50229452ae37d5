// The output folder of `temper build`: made, held against a second build, freed of what an earlier one left. Called by
// build; never deletes a file that no build makes, nor a CMake folder of another project.
#pragma once

#include <string>
#include <vector>

#include "schedules/result.h"
#include "tools/build_kit.h"

namespace temper {

/// The programs that a firmware project makes, without their endings.
std::vector<std::string> firmware_programs();

/// Holds the folder for one build. Programs that it starts hold it as well: until the last one has ended nobody else
/// builds there.
class BuildFolder {
 public:
  BuildFolder() = default;
  BuildFolder(BuildFolder&& other) noexcept;
  BuildFolder& operator=(BuildFolder&& other) noexcept;
  ~BuildFolder();

  /// TEMPER_STORAGE_ERROR where no folder can be made or written; TEMPER_BUSY while another build is at work there;
  /// TEMPER_INVALID_ARGUMENT for a path that CMake takes apart.
  static Result<BuildFolder> open(const std::string& path);

  /// Removes programs, reports and whatever else says what an earlier build was for, so that nothing of it passes for
  /// this one's; and the CMake folder where it is of another target, source tree or place. `name` as in NAME_pack,
  /// empty without. TEMPER_INVALID_ARGUMENT where FOLDER/cmake is the build of another project.
  Result<bool> clear(const BuildKit& kit, const std::string& name) const;

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace temper
