// Tensors of case_driver.c on Linux: each touches an inaccessible page, so that even a read outside faults.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/codegen/emulated/kernel_cases.h"

enum { kMost = 8, kSlack = 0xff };

static struct {
  unsigned char* base;
  size_t bytes, page;
  unsigned char *begin, *end;
} tensors[kMost];
static int tensor_count;

uint32_t* case_tensor(uint32_t words, uint32_t side) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = words * sizeof(uint32_t);
  const size_t inside = (bytes / page + 1) * page;
  if (tensor_count == kMost) {
    return NULL;
  }
  unsigned char* const base = mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + page, inside, PROT_READ | PROT_WRITE) != 0) {
    return NULL;
  }
  memset(base + page, kSlack, inside);
  unsigned char* const begin = side == 0 ? base + page + inside - bytes : base + page;
  tensors[tensor_count].base = base;
  tensors[tensor_count].bytes = inside + 2 * page;
  tensors[tensor_count].page = page;
  tensors[tensor_count].begin = begin;
  tensors[tensor_count].end = begin + bytes;
  ++tensor_count;
  return (uint32_t*)begin;
}

static int is_slack(const unsigned char* from, const unsigned char* to) {
  while (from < to && *from == kSlack) {
    ++from;
  }
  return from >= to;
}

int case_release_tensors(void) {
  int intact = 1;
  while (tensor_count > 0) {
    --tensor_count;
    unsigned char* const first = tensors[tensor_count].base + tensors[tensor_count].page;
    unsigned char* const last = tensors[tensor_count].base + tensors[tensor_count].bytes - tensors[tensor_count].page;
    intact = intact && is_slack(first, tensors[tensor_count].begin) && is_slack(tensors[tensor_count].end, last);
    munmap(tensors[tensor_count].base, tensors[tensor_count].bytes);
  }
  return intact;
}

void case_print(const char* text) {
  if (write(1, text, strlen(text)) < 0) {
    _exit(2);
  }
}
