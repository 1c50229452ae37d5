#include "codegen/worker_protocol.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <thread>

namespace temper {
namespace {

struct SocketPair {
  int end[2] = {-1, -1};
  SocketPair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, end) == 0); }
  ~SocketPair() {
    close_end(0);
    close_end(1);
  }
  void close_end(int which) {
    if (end[which] >= 0) {
      ::close(end[which]);
    }
    end[which] = -1;
  }
};

Message numbered(uint32_t number) {
  Message message;
  message.type = MessageType::kBuild;
  message.number = number;
  message.config.choice[3] = 9;
  return message;
}

TEST_CASE("a message and its payload arrive whole although the bytes come one by one") {
  SocketPair pair;
  std::vector<uint8_t> wire(sizeof(Message) + 5);
  Message sent = numbered(77);
  sent.payload_bytes = 5;
  std::memcpy(wire.data(), &sent, sizeof sent);
  std::iota(wire.begin() + sizeof(Message), wire.end(), uint8_t{1});
  std::thread writer([&] {
    for (const uint8_t byte : wire) {
      REQUIRE(::write(pair.end[0], &byte, 1) == 1);
    }
  });
  Message got;
  std::vector<uint8_t> payload;
  CHECK(read_message(pair.end[1], &got, &payload).ok());
  writer.join();
  CHECK(got.number == 77);
  CHECK(got.config == sent.config);
  CHECK(payload == std::vector<uint8_t>{1, 2, 3, 4, 5});
}

TEST_CASE("the end of the conversation differs from an end in the middle of a message") {
  SocketPair quiet;
  quiet.close_end(0);
  Message got;
  std::vector<uint8_t> payload;
  CHECK(read_message(quiet.end[1], &got, &payload) == TEMPER_NOT_FOUND);

  for (const size_t cut : {size_t{1}, sizeof(Message) - 1, sizeof(Message), sizeof(Message) + 3}) {
    SocketPair torn;
    Message sent = numbered(1);
    sent.payload_bytes = 4;
    std::vector<uint8_t> wire(sizeof(Message) + 4);
    std::memcpy(wire.data(), &sent, sizeof sent);
    REQUIRE(::write(torn.end[0], wire.data(), cut) == static_cast<ssize_t>(cut));
    torn.close_end(0);
    CHECK(read_message(torn.end[1], &got, &payload) == TEMPER_BAD_DATA);
  }
}

TEST_CASE("messages with a foreign magic, type, outcome or size are refused") {
  Message message = numbered(1);
  CHECK(well_formed(message));
  message.magic ^= 1u;
  CHECK_FALSE(well_formed(message));
  message = numbered(1);
  message.type = static_cast<MessageType>(kLastMessageType + 1);
  CHECK_FALSE(well_formed(message));
  message = numbered(1);
  message.outcome = TEMPER_OUTCOME_COUNT;
  CHECK_FALSE(well_formed(message));
  message = numbered(1);
  message.payload_bytes = kMaxMessagePayload + 1;
  CHECK_FALSE(well_formed(message));
}

TEST_CASE("writing to an end that is gone is a status, not a signal") {
  SocketPair pair;
  pair.close_end(1);
  CHECK(write_message(pair.end[0], numbered(1), nullptr, 0) == TEMPER_PORT_ERROR);
}

TEST_CASE("a queue moves payloads larger than the socket's buffer without blocking, in order") {
  SocketPair pair;
  MessageQueue sender, receiver;
  std::vector<uint8_t> large(3u << 20);
  for (size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<uint8_t>(i * 7 + (i >> 9));
  }
  sender.send(numbered(1), large.data(), large.size());
  sender.send(numbered(2), nullptr, 0);
  std::vector<uint32_t> numbers;
  std::vector<uint8_t> first;
  for (int round = 0; round < 100000 && numbers.size() < 2; ++round) {
    REQUIRE(sender.pump(pair.end[0]).ok());
    REQUIRE(receiver.pump(pair.end[1]).ok());
    Message got;
    std::vector<uint8_t> payload;
    Status status;
    while (receiver.receive(&got, &payload, &status)) {
      numbers.push_back(got.number);
      if (got.number == 1) {
        first = payload;
      }
    }
    REQUIRE(status.ok());
  }
  CHECK(numbers == std::vector<uint32_t>{1, 2});
  CHECK(first == large);
  CHECK_FALSE(sender.wants_to_write());
}

TEST_CASE("what a dead sender said before it died still comes out of the queue") {
  SocketPair pair;
  REQUIRE(write_message(pair.end[0], numbered(5), "abc", 3).ok());
  pair.close_end(0);
  MessageQueue receiver;
  CHECK(receiver.pump(pair.end[1]) == TEMPER_PORT_ERROR);  // told at once, not only by the next
  CHECK(receiver.pump(pair.end[1]) == TEMPER_PORT_ERROR);
  Message got;
  std::vector<uint8_t> payload;
  Status status;
  CHECK(receiver.receive(&got, &payload, &status));
  CHECK(payload.size() == 3);
  CHECK_FALSE(receiver.receive(&got, &payload, &status));
  CHECK(status.ok());
}

TEST_CASE("a stream that is no conversation is told as bad data") {
  SocketPair pair;
  const std::vector<char> noise(200, 'x');
  REQUIRE(::write(pair.end[0], noise.data(), noise.size()) == static_cast<ssize_t>(noise.size()));
  MessageQueue receiver;
  REQUIRE(receiver.pump(pair.end[1]).ok());
  Message got;
  std::vector<uint8_t> payload;
  Status status;
  CHECK_FALSE(receiver.receive(&got, &payload, &status));
  CHECK(status == TEMPER_BAD_DATA);
}

}  // namespace
}  // namespace temper
