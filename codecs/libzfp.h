/* libzfp, loaded when the first chunk of its codecs is decoded or encoded: it brings OpenMP. */
#pragma once

#include "base/lazy.h"

#include <zfp.h>

/* clang-format off */
#define LIBZFP(F) \
	F(stream_close) F(stream_open) F(zfp_compress) F(zfp_decompress) \
	F(zfp_field_alloc) F(zfp_field_dimensionality) F(zfp_field_free) \
	F(zfp_field_set_pointer) F(zfp_field_set_size_4d) F(zfp_field_set_type) \
	F(zfp_read_header) F(zfp_stream_close) F(zfp_stream_maximum_size) \
	F(zfp_stream_open) F(zfp_stream_rewind) F(zfp_stream_set_accuracy) \
	F(zfp_stream_set_bit_stream) F(zfp_stream_set_params) F(zfp_stream_set_precision) \
	F(zfp_stream_set_rate) F(zfp_stream_set_reversible) F(zfp_write_header)
/* clang-format on */

LAZY_DECLARE(libzfp, LIBZFP);

#define stream_close libzfp.stream_close
#define stream_open libzfp.stream_open
#define zfp_compress libzfp.zfp_compress
#define zfp_decompress libzfp.zfp_decompress
#define zfp_field_alloc libzfp.zfp_field_alloc
#define zfp_field_dimensionality libzfp.zfp_field_dimensionality
#define zfp_field_free libzfp.zfp_field_free
#define zfp_field_set_pointer libzfp.zfp_field_set_pointer
#define zfp_field_set_size_4d libzfp.zfp_field_set_size_4d
#define zfp_field_set_type libzfp.zfp_field_set_type
#define zfp_read_header libzfp.zfp_read_header
#define zfp_stream_close libzfp.zfp_stream_close
#define zfp_stream_maximum_size libzfp.zfp_stream_maximum_size
#define zfp_stream_open libzfp.zfp_stream_open
#define zfp_stream_rewind libzfp.zfp_stream_rewind
#define zfp_stream_set_accuracy libzfp.zfp_stream_set_accuracy
#define zfp_stream_set_bit_stream libzfp.zfp_stream_set_bit_stream
#define zfp_stream_set_params libzfp.zfp_stream_set_params
#define zfp_stream_set_precision libzfp.zfp_stream_set_precision
#define zfp_stream_set_rate libzfp.zfp_stream_set_rate
#define zfp_stream_set_reversible libzfp.zfp_stream_set_reversible
#define zfp_write_header libzfp.zfp_write_header
