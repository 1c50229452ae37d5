#include "codegen/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace temper {
namespace {

constexpr size_t kAlignment = 64;
/// Unreadable on either side: a wrong stride goes past a page easily. Addresses cost nothing. A multiple of every page
/// size in use.
constexpr size_t kUnreadableBytes = size_t{4} << 20;
constexpr size_t kGuardBytes = kGuardElements * sizeof(float);
static_assert(kGuardBytes % kAlignment == 0, "the front guard must not disturb the alignment of the tensor");

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

GuardedBuffer::GuardedBuffer(size_t elements) {
  if (elements == 0) {
    return;
  }
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  // The tensor starts at a multiple of 64 bytes, so up to 63 bytes lie between the rear guard and the page behind it.
  const size_t body = kGuardBytes + rounded_up(elements * sizeof(float) + kGuardBytes, kAlignment);
  const size_t usable = rounded_up(body, page);
  const size_t total = usable + 2 * kUnreadableBytes;
  void* mapping = ::mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return;
  }
  uint8_t* first = static_cast<uint8_t*>(mapping) + kUnreadableBytes;
  if (::mprotect(first, usable, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(mapping, total);
    return;
  }
  mapping_ = mapping;
  mapped_bytes_ = total;
  occupied_bytes_ = usable;
  data_ = reinterpret_cast<float*>(first + (usable - body) + kGuardBytes);
  elements_ = elements;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(occupied_bytes_, other.occupied_bytes_);
  std::swap(data_, other.data_);
  std::swap(elements_, other.elements_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, mapped_bytes_);
  }
}

bool GuardedBuffer::make_read_only() {
  return empty() || ::mprotect(static_cast<uint8_t*>(mapping_) + kUnreadableBytes, occupied_bytes_, PROT_READ) == 0;
}

Span<float> GuardedBuffer::guarded() const {
  if (empty()) {
    return {};
  }
  return {data_ - kGuardElements, elements_ + 2 * kGuardElements};
}

}  // namespace temper
