// What a profile links into the first-boot program; profile_tuner.c or profile_learning.c defines it.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_PROFILE_H
#define TEMPER_TOOLCHAINS_FIRMWARE_PROFILE_H

#include "temper/temper.h"

/// For temper_config; NULL in the tuner profile: the learner is not linked.
extern const temper_learning_functions* const profile_learning;
/// For temper_config; NULL in the tuner profile, for flash: nothing is borrowed from other shapes.
extern const temper_nearest_functions* const profile_nearest;

#endif
