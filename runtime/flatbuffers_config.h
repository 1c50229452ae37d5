// The only way into generated FlatBuffers code. Everything in the device core includes this and never a *_generated.h
// itself: an assert of FlatBuffers would drag printf and malloc into a firmware. What the accessors assume is checked
// once, when a buffer is opened (runtime/flatbuffer_check.h).
#pragma once

#ifndef FLATBUFFERS_ASSERT
#define FLATBUFFERS_ASSERT(condition) static_cast<void>(0)
#endif

// Generated code relies on the definition above.
#include "history_generated.h"
#include "pack_generated.h"
#include "table_generated.h"

static_assert(FLATBUFFERS_LITTLEENDIAN, "formats are read in place, and they are little-endian");
