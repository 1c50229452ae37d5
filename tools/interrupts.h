// Interrupts of a run that measures: the first lets it keep what it knows, the second ends at once. Called by the
// commands that measure, once each.
#pragma once

#include <csignal>

namespace temper {

/// Non-zero once SIGINT, SIGTERM or SIGHUP came (unless the process was started with that ignored). SIGPIPE is ignored
/// from now on: that nobody reads the progress any more is no reason to stop.
const volatile std::sig_atomic_t* catch_interrupts();

}  // namespace temper
