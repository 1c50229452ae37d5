#include "tools/interrupts.h"

#include <signal.h>
#include <unistd.h>

#include "tools/exit_code.h"

namespace temper {
namespace {

volatile std::sig_atomic_t interrupts = 0;

/// Every finished trial is on storage already, and the workers end with their parent.
void on_interrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts > 1) {
    _exit(kExitInterrupted);
  }
}

}  // namespace

const volatile std::sig_atomic_t* catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: a wait for the workers ends early
  sigemptyset(&action.sa_mask);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction inherited {};
    sigaction(signal_number, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) {  // nohup and shells in the background ask for that
      sigaction(signal_number, &action, nullptr);
    }
  }
  signal(SIGPIPE, SIG_IGN);
  return &interrupts;
}

}  // namespace temper
