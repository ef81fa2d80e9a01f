/* Codecs of Python objects that are no text: lists, dicts, arrays of any length. Their elements
 * have no size, so there is no flat file of them; the message says that the codec is known. */
#include "base/err.h"
#include "codec/codec.h"

#include <errno.h>

static int
object_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	return err_set(-ENOTSUP, "its elements are objects of any size, which have no flat form");
}

static int
object_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	return err_set(-ENOTSUP, "objects have no flat form");
}

const struct codec_ops codec_object = {
	.ids = (const char *const[]){"vlen-array", "json2", "json", "msgpack2", "msgpack",
		"numcodecs.vlen-array", "numcodecs.json2", "numcodecs.msgpack2", NULL},
	.kind = CODEC_PACK,
	.open = object_open,
	.decode = object_decode,
};
