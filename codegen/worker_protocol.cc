#include "codegen/worker_protocol.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace temper {
namespace {

constexpr size_t kReceiveChunk = 64 * 1024;

/// Bytes read before the end of the stream; less than `bytes` there. -1 on an error.
ssize_t read_whole(int fd, void* to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::read(fd, static_cast<uint8_t*>(to) + done, bytes - done);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return -1;
    }
    if (n == 0) {
      break;
    }
    done += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

Status write_whole(int fd, const void* from, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::send(fd, static_cast<const uint8_t*>(from) + done, bytes - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return TEMPER_PORT_ERROR;
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

}  // namespace

bool well_formed(const Message& message) {
  const auto type = static_cast<uint8_t>(message.type);
  return message.magic == kMessageMagic && type >= 1 && type <= kLastMessageType &&
         message.payload_bytes <= kMaxMessagePayload && message.outcome < TEMPER_OUTCOME_COUNT;
}

Status read_message(int fd, Message* message, std::vector<uint8_t>* payload) {
  payload->clear();
  uint8_t head[sizeof(Message)];
  const ssize_t got = read_whole(fd, head, sizeof head);
  if (got < 0) {
    return TEMPER_PORT_ERROR;
  }
  if (got == 0) {
    return TEMPER_NOT_FOUND;
  }
  if (static_cast<size_t>(got) < sizeof head) {
    return TEMPER_BAD_DATA;
  }
  std::memcpy(message, head, sizeof head);
  if (!well_formed(*message)) {
    return TEMPER_BAD_DATA;
  }
  payload->resize(message->payload_bytes);
  const ssize_t body = read_whole(fd, payload->data(), payload->size());
  if (body < 0) {
    return TEMPER_PORT_ERROR;
  }
  return static_cast<size_t>(body) == payload->size() ? Status{} : Status{TEMPER_BAD_DATA};
}

Status write_message(int fd, Message message, const void* payload, size_t payload_bytes) {
  message.payload_bytes = payload_bytes;
  const Status head = write_whole(fd, &message, sizeof message);
  if (!head.ok()) {
    return head;
  }
  return write_whole(fd, payload, payload_bytes);
}

void MessageQueue::send(Message message, const void* payload, size_t payload_bytes) {
  message.payload_bytes = payload_bytes;
  const auto* head = reinterpret_cast<const uint8_t*>(&message);
  outgoing_.insert(outgoing_.end(), head, head + sizeof message);
  if (payload_bytes > 0) {
    const auto* body = static_cast<const uint8_t*>(payload);
    outgoing_.insert(outgoing_.end(), body, body + payload_bytes);
  }
}

Status MessageQueue::pump_out(int fd) {
  while (wants_to_write()) {
    const ssize_t n = ::send(fd, outgoing_.data() + written_, outgoing_.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return {};
    }
    if (n <= 0) {
      return TEMPER_PORT_ERROR;
    }
    written_ += static_cast<size_t>(n);
  }
  outgoing_.clear();
  written_ = 0;
  return {};
}

Status MessageQueue::pump_in(int fd) {
  for (;;) {
    uint8_t chunk[kReceiveChunk];
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return {};
    }
    if (n <= 0) {
      return TEMPER_PORT_ERROR;
    }
    incoming_.insert(incoming_.end(), chunk, chunk + n);  // and on: the end may lie right behind
  }
}

Status MessageQueue::pump(int fd) {
  const Status out = pump_out(fd);
  const Status in = pump_in(fd);
  return out.ok() ? in : out;
}

bool MessageQueue::receive(Message* message, std::vector<uint8_t>* payload, Status* status) {
  *status = {};
  const size_t held = incoming_.size() - taken_;
  if (held < sizeof(Message)) {
    return false;
  }
  std::memcpy(message, incoming_.data() + taken_, sizeof(Message));
  if (!well_formed(*message)) {
    *status = TEMPER_BAD_DATA;
    return false;
  }
  if (held - sizeof(Message) < message->payload_bytes) {
    return false;
  }
  const auto body = incoming_.begin() + static_cast<std::ptrdiff_t>(taken_ + sizeof(Message));
  payload->assign(body, body + static_cast<std::ptrdiff_t>(message->payload_bytes));
  taken_ += sizeof(Message) + message->payload_bytes;
  if (taken_ == incoming_.size()) {
    incoming_.clear();
    taken_ = 0;
  }
  return true;
}

}  // namespace temper
