// Sizes that differ from target to target, as sizes of symbols: a host that cross-built the core reads them from the
// archive (nm) and so knows what an arena takes on the device. Nobody refers to them: no program holds them.
#include "runtime/api_context.h"

extern "C" {
char temper_layout_context[sizeof(temper_context)];
}
