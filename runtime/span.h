// A non-owning view of a contiguous array. Used in every signature of the device core; never allocates.
#pragma once

#include <cstddef>

namespace temper {

template <class T>
struct Span {
  T* data = nullptr;
  size_t size = 0;

  constexpr Span() = default;
  constexpr Span(T* d, size_t n) : data(d), size(n) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data(array), size(N) {}
  constexpr T& operator[](size_t i) const { return data[i]; }
  constexpr T* begin() const { return data; }
  constexpr T* end() const { return data + size; }
  constexpr bool empty() const { return size == 0; }
  constexpr operator Span<const T>() const { return {data, size}; }
};

}  // namespace temper
