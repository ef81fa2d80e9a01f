/* c-blosc, loaded when a chunk is encoded or one of blosclz or snappy is decoded: snappy brings the
 * C++ library. */
#pragma once

#include "base/lazy.h"

#include <blosc.h>

/* clang-format off */
#define LIBBLOSC(F) \
	F(blosc_compname_to_compcode) F(blosc_compress_ctx) F(blosc_decompress_ctx)
/* clang-format on */

LAZY_DECLARE(libblosc, LIBBLOSC);

#define blosc_compname_to_compcode libblosc.blosc_compname_to_compcode
#define blosc_compress_ctx libblosc.blosc_compress_ctx
#define blosc_decompress_ctx libblosc.blosc_decompress_ctx
