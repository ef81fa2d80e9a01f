/* The codecs of this build. */
#include "codec/codec.h"

int
codec_chain_open(
	const struct codec_spec *spec, size_t n, const struct form *array, struct codec_chain **ret)
{
	struct form form = *array;
	form.codecs = codec_table;
	return codec_chain_open_inner(spec, n, &form, ret);
}
