// Results that cross the C API, and what can become of a trial. Included by everything; includes nothing.
#ifndef TEMPER_STATUS_H
#define TEMPER_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum temper_status {
  TEMPER_OK = 0,
  TEMPER_MORE,              ///< a step was done and more remain
  TEMPER_INVALID_ARGUMENT,  ///< the caller broke the contract of the function
  TEMPER_NO_MEMORY,         ///< the arena or buffer given is smaller than what was asked for
  TEMPER_BAD_DATA,          ///< a pack, table or history failed verification
  TEMPER_BAD_VERSION,       ///< well formed, but of a format version this build does not read
  TEMPER_NOT_FOUND,
  TEMPER_STORAGE_FULL,
  TEMPER_STORAGE_ERROR,  ///< the storage callback failed, or did not keep what was written
  TEMPER_UNSUPPORTED,
  TEMPER_CANCELLED,
  TEMPER_BUDGET_SPENT,
  TEMPER_NOTHING_TO_TUNE,  ///< every candidate failed, or the space holds no legal config
  TEMPER_PORT_ERROR,       ///< the port breaks its contract (a clock that stands still, for instance)
  TEMPER_BUSY,             ///< another process holds it (a history file, for instance)
  TEMPER_STATUS_COUNT
} temper_status;

/// What became of a trial. Persisted: values never change, new ones are appended.
typedef enum temper_outcome {
  TEMPER_OUTCOME_OK = 0,
  TEMPER_OUTCOME_INVALID,  ///< the config breaks a constraint, or no variant serves it
  TEMPER_OUTCOME_BUILD_ERROR,
  TEMPER_OUTCOME_WRONG_RESULT,  ///< digest differs, or guard bytes were overwritten
  TEMPER_OUTCOME_CRASHED,
  TEMPER_OUTCOME_TIMEOUT,
  TEMPER_OUTCOME_TOO_SLOW,  ///< cut early: cannot beat the incumbent
  TEMPER_OUTCOME_COUNT
} temper_outcome;

/// Short lower-case English name; "unknown" when out of range. Static storage.
const char* temper_status_name(temper_status status);
const char* temper_outcome_name(temper_outcome outcome);

#ifdef __cplusplus
}
#endif
#endif
