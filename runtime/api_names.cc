// Names of the C API's enumerations: linked where they are printed.
#include "temper/temper.h"

const char* temper_source_name(temper_source source) {
  static const char* const kNames[TEMPER_SOURCE_COUNT] = {"history", "table", "class table", "nearest shape",
                                                          "default"};
  return static_cast<uint32_t>(source) < TEMPER_SOURCE_COUNT ? kNames[source] : "unknown";
}

const char* temper_miss_name(temper_miss miss) {
  static const char* const kNames[TEMPER_MISS_COUNT] = {"none",    "absent",     "unknown workload", "fingerprint",
                                                        "illegal", "no variant", "damaged"};
  return static_cast<uint32_t>(miss) < TEMPER_MISS_COUNT ? kNames[miss] : "unknown";
}
