#include "toolchains/firmware/profile.h"

const temper_learning_functions* const profile_learning = &temper_learning;
const temper_nearest_functions* const profile_nearest = &temper_nearest_shape;
