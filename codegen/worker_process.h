// One spawned worker process as its parent sees it: started by posix_spawn (never a fork of the application), spoken to
// through a socket, killed and reaped here. Called by jit_runner. Never waits for an answer; what it prints is
// discarded.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "codegen/worker_protocol.h"
#include "schedules/result.h"

namespace temper {

struct WorkerCommand {
  std::string path = "/proc/self/exe";              ///< the program; a library user names the temper binary here
  std::vector<std::string> arguments = {"worker"};  ///< before "--fd N"
};

class WorkerProcess {
 public:
  WorkerProcess() = default;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess() { stop(); }

  /// Starts the program in a process group of its own, so that a terminal's interrupt reaches the parent alone. Stops
  /// the one before it. TEMPER_PORT_ERROR with the system's reason.
  Result<bool> start(const WorkerCommand& command);
  /// Kills and reaps; leaves neither zombie nor descriptor. No-op when not running.
  void stop();

  bool running() const { return pid_ > 0; }
  int fd() const { return fd_; }
  pid_t pid() const { return pid_; }
  /// nice(2) value of the process; best effort.
  void set_niceness(int value);

  void send(const Message& message, const void* payload = nullptr, size_t payload_bytes = 0) {
    queue_.send(message, payload, payload_bytes);
  }
  bool wants_to_write() const { return queue_.wants_to_write(); }
  /// Moves bytes. False: the process is gone or talks nonsense; what it said before that can still be received.
  bool pump() { return running() && queue_.pump(fd_).ok(); }
  bool receive(Message* message, std::vector<uint8_t>* payload, Status* status) {
    return queue_.receive(message, payload, status);
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  MessageQueue queue_;
};

}  // namespace temper
