// Defaults by the template's own program: what config.defaults points to. See runtime/current_space.h.
#include "runtime/current_space.h"

namespace temper {
namespace {

Status find_by_program(const Space& space, Config* out) { return space.default_config(out); }

}  // namespace
}  // namespace temper

extern const temper_default_functions temper_probed_defaults = {temper::find_by_program};
