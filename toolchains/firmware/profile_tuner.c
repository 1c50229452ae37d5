#include "toolchains/firmware/profile.h"

const temper_learning_functions* const profile_learning = NULL;
const temper_nearest_functions* const profile_nearest = NULL;
