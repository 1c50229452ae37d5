// Kernel packs that are loaded at run time: a shared object that `temper build` linked for this kind of machine.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/pack_view.h"
#include "temper/port_linux.h"

namespace temper {
namespace {

// The same in every pack, whatever the network and the file are called.
constexpr char kPackSymbol[] = "temper_loadable_pack";

using FileHeader = ElfW(Ehdr);
using SectionHeader = ElfW(Shdr);

bool read_whole(int file, void* to, size_t bytes, off_t at) {
  uint8_t* const place = static_cast<uint8_t*>(to);
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(file, place + done, bytes - done, at + static_cast<off_t>(done));
    if (got <= 0 && !(got < 0 && errno == EINTR)) {
      return false;
    }
    done += got > 0 ? static_cast<size_t>(got) : 0;
  }
  return true;
}

// The loader maps what the headers name and trusts them: in a file that was cut it would fault. The section headers
// stand last, so a file that holds them holds the rest.
temper_status check_file(int file) {
  struct stat found {};
  FileHeader header;
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    return TEMPER_BAD_DATA;
  }
  if (!read_whole(file, &header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_type != ET_DYN || header.e_shentsize != sizeof(SectionHeader)) {
    return TEMPER_BAD_DATA;
  }
  FileHeader own;
  const int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const bool told = self >= 0 && read_whole(self, &own, sizeof own, 0);
  if (self >= 0) {
    close(self);
  }
  if (told && (own.e_machine != header.e_machine || own.e_ident[EI_CLASS] != header.e_ident[EI_CLASS])) {
    return TEMPER_UNSUPPORTED;
  }
  const uint64_t end = static_cast<uint64_t>(header.e_shoff) + uint64_t{header.e_shnum} * sizeof(SectionHeader);
  return header.e_shoff != 0 && end <= static_cast<uint64_t>(found.st_size) ? TEMPER_OK : TEMPER_BAD_DATA;
}

temper_status open_checked(const char* path, void** handle) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return errno == ENOENT || errno == ENOTDIR ? TEMPER_NOT_FOUND : TEMPER_STORAGE_ERROR;
  }
  const temper_status status = check_file(file);
  close(file);
  if (status != TEMPER_OK) {
    return status;
  }
  // A name without a slash would be looked for elsewhere.
  char here[4096];
  const char* name = path;
  if (std::strchr(path, '/') == nullptr) {
    if (std::strlen(path) + 3 > sizeof here) {
      return TEMPER_INVALID_ARGUMENT;
    }
    std::strcpy(here, "./");
    std::strcat(here, path);
    name = here;
  }
  *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  return *handle != nullptr ? TEMPER_OK : TEMPER_BAD_DATA;
}

}  // namespace
}  // namespace temper

temper_status temper_linux_pack_open(const char* path, const temper_pack** pack, temper_linux_pack** handle) {
  if (path == nullptr || pack == nullptr || handle == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  *pack = nullptr;
  *handle = nullptr;
  void* opened = nullptr;
  temper_status status = temper::open_checked(path, &opened);
  if (status != TEMPER_OK) {
    return status;
  }
  const temper_pack* const found = static_cast<const temper_pack*>(dlsym(opened, temper::kPackSymbol));
  temper::PackView view;
  status = found == nullptr ? TEMPER_BAD_DATA : temper::PackView::open(*found, &view, nullptr).code();
  if (status == TEMPER_OK && found->kernels == nullptr) {
    status = TEMPER_BAD_DATA;
  }
  if (status != TEMPER_OK) {
    dlclose(opened);
    return status;
  }
  *pack = found;
  *handle = reinterpret_cast<temper_linux_pack*>(opened);
  return TEMPER_OK;
}

void temper_linux_pack_close(temper_linux_pack* handle) {
  if (handle != nullptr) {
    dlclose(handle);
  }
}
