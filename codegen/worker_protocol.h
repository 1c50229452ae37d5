// What the host's runner and its worker processes say to each other: one fixed-size message, then its payload, over a
// socket. Used by jit_runner (parent) and worker (child). Both ends are the same build on the same machine; a message
// that is not well formed ends the conversation. Never interprets payloads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/config.h"
#include "runtime/status.h"
#include "temper/kernel.h"

namespace temper {

/// What a worker does all its life.
enum class WorkerRole : uint8_t {
  kBuilder = 1,  ///< compiles, and computes digests of the reference
  kTimer = 2,    ///< loads kernels, checks and times them; alone on its cores
};

enum class MessageType : uint8_t {
  kSetup = 1,  ///< to both, first: role in `kind`; payload: temper_facts padded to kSetupFactsBytes, then the pack
  kReady,      ///< from both, once: set up, requests may come
  kBuild,      ///< to a builder: workload, config
  kBuilt,      ///< answer: outcome, build microseconds in `number`; payload: the object, or why there is none
  kDigest,     ///< to a builder: workload; payload: its canonical text
  kDigested,   ///< answer: workload, digest in `number`
  kLoad,       ///< to the timer: slot, workload, config; payload: the object. No answer; a failure is told by kRan
  kUnload,     ///< to the timer: slot. No answer
  kRun,        ///< to the timer: slot, RunKind in `kind`; `number` is the calls, or the digest that a check expects
  kStarted,    ///< first answer, where `announce` asks for it: everything is in place, the kernel runs from now on
  kRan,  ///< second answer: outcome, elapsed_ns; `number` 1: memory was overwritten, do not trust this process again
};
inline constexpr uint8_t kLastMessageType = static_cast<uint8_t>(MessageType::kRan);
inline constexpr uint32_t kSetupFactsBytes = 64;
static_assert(sizeof(temper_facts) <= kSetupFactsBytes && kSetupFactsBytes % 8 == 0,
              "the pack stays aligned to 8 bytes");

inline constexpr uint32_t kMessageMagic = 0x4D575054;  // "TPWM"
inline constexpr uint64_t kMaxMessagePayload = uint64_t{1} << 30;

struct Message {
  uint32_t magic = kMessageMagic;
  MessageType type = MessageType::kSetup;
  uint8_t slot = 0;
  uint8_t outcome = TEMPER_OUTCOME_OK;
  uint8_t kind = 0;
  uint32_t workload = 0;
  uint32_t number = 0;
  uint32_t ticket = 0;    ///< answers repeat it; tells an answer to a request that was given up from a current one
  uint32_t announce = 0;  ///< of kRun: 1 asks for kStarted; a run of what is in place already does without
  uint64_t elapsed_ns = 0;
  uint64_t payload_bytes = 0;
  Config config;
};
static_assert(sizeof(Message) == 72, "message layout is shared by two processes");

/// True when magic, type and payload size are within bounds.
bool well_formed(const Message& message);

/// Blocking, whole; for the worker's side. TEMPER_NOT_FOUND: the other end closed before the first byte of a message;
/// TEMPER_BAD_DATA: in the middle of one, or it is not well formed; TEMPER_PORT_ERROR: the system refused.
Status read_message(int fd, Message* message, std::vector<uint8_t>* payload);
/// TEMPER_PORT_ERROR when the other end is gone. Never raises SIGPIPE.
Status write_message(int fd, Message message, const void* payload, size_t payload_bytes);

/// The parent's side: never blocks. Bytes wait here until the socket takes or completes them.
class MessageQueue {
 public:
  void send(Message message, const void* payload, size_t payload_bytes);
  bool wants_to_write() const { return written_ < outgoing_.size(); }
  /// Moves what the socket takes and gives. TEMPER_PORT_ERROR: the other end is gone; messages received before it still
  /// come out.
  Status pump(int fd);
  /// The next whole message; false when there is none yet. TEMPER_BAD_DATA in *status when the stream is not well
  /// formed.
  bool receive(Message* message, std::vector<uint8_t>* payload, Status* status);

 private:
  Status pump_out(int fd);
  Status pump_in(int fd);

  std::vector<uint8_t> outgoing_, incoming_;
  size_t written_ = 0;
  size_t taken_ = 0;
};

}  // namespace temper
