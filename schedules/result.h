// Host errors: a temper_status with a message that says what was wrong, where, and what to do. Used by every host
// folder.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "temper/status.h"

namespace temper {

struct Error {
  temper_status code = TEMPER_BAD_DATA;
  std::string message;
};

/// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}
  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  T& operator*() { return std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace temper
