#include "codec/widen.h"

#include "base/err.h"
#include "model/narrow.h"

#include <errno.h>

struct widen {
	struct dtype wide, raw;
};

static int
widen_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct widen *w = malloc(sizeof *w);
	if (!w)
		return err_set(-ENOMEM, "out of memory");
	*w = (struct widen){.wide = *in->dtype, .raw = narrow_raw(in->dtype)};
	out->dtype = &w->raw;
	out->bytes = in->count * w->raw.size;
	*ret = w;
	return 0;
}

static int
widen_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct widen *w = state;
	size_t n = in.len / w->raw.size;
	if (in.len % w->raw.size || n > out->cap / w->wide.size)
		return err_set(-EIO, "%zu bytes are not the elements of the chunk", in.len);
	narrow_widen(&w->wide, in.data, n, out->data);
	out->len = n * w->wide.size;
	return 0;
}

static int
widen_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct widen *w = state;
	size_t n = in.len / w->wide.size;
	int r = buf_reserve(out, n * w->raw.size);
	if (r == 0)
		r = narrow_back(&w->wide, in.data, n, out->data);
	out->len = r < 0 ? 0 : n * w->raw.size;
	return r;
}

const struct codec_ops widen_codec = {
	.ids = (const char *const[]){"widen", NULL},
	.kind = CODEC_ARRAY,
	.open = widen_open,
	.close = free,
	.decode = widen_decode,
	.encode = widen_encode,
	.each = true,
};
