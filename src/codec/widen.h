/* The step of a chain that makes of numbers that are stored in less than a byte, or as bfloat16 or
 * float8, what the array shows (model/narrow.h). No metadata name it: a chain puts it before the
 * first codec that looks at elements. Encoding gives -ERANGE for a number that the stored type has
 * not. */
#pragma once

#include "codec/codec.h"

extern const struct codec_ops widen_codec;
