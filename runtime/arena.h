// Bump allocation from memory the caller gave. Used at init only; nothing is ever returned to it.
// With base == nullptr it only counts, so that the same code that places things tells how much it needs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace temper {

struct Arena {
  uint8_t* base = nullptr;
  size_t capacity = 0;
  size_t used = 0;  ///< may exceed capacity: what would have been needed

  bool counting() const { return base == nullptr; }
  bool overflowed() const { return used > capacity && !counting(); }

  /// Room for `bytes` at `alignment` (a power of two, at most 64; base must be aligned to 64 for that to hold in
  /// memory). nullptr when only counting or when it does not fit; `used` grows either way.
  void* take(size_t bytes, size_t alignment) {
    const size_t offset = (used + alignment - 1) & ~(alignment - 1);
    used = offset + bytes;
    return counting() || used > capacity ? nullptr : base + offset;
  }

  template <class T>
  T* take_array(size_t count) {
    return static_cast<T*>(take(count * sizeof(T), alignof(T)));
  }
};

}  // namespace temper
