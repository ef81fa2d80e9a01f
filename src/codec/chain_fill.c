/* The fill value behind codecs: what an element that is not stored is taken for there. */
#include "base/err.h"
#include "codec/chain_impl.h"

#include <errno.h>
#include <string.h>

static int
one_behind(const struct codec_link *l, struct span in, struct buf *ret)
{
	static const uint64_t one = 1;
	const struct form f = {.dtype = l->in.dtype,
		.rank = 1,
		.shape = &one,
		.count = 1,
		.bytes = in.len,
		.exact = true};
	ret->len = 0;
	if (l->ops->fill)
		return l->ops->fill(l->obj, in, ret);
	if (l->ops->each && l->ops->encode)
		return l->ops->encode(l->obj, &f, in, ret);
	if (l->in.dtype->size != l->out.dtype->size)
		return err_set(-ENOTSUP, "elements of another size");
	return buf_add(ret, in.data, in.len);
}

/* ret->len 0: nothing can stand for it. 0 or -ENOMEM. */
static int
fill_behind(const struct codec_chain *c, struct buf *ret)
{
	CLEAN(buf_free) struct buf next = {0};
	ret->len = 0;
	int r = c->array.fill ? buf_add(ret, c->array.fill, c->array.dtype->size) : 0;
	for (size_t i = 0; i < c->n && r == 0 && ret->len; i++) {
		const struct codec_link *l = &c->link[i];
		if (l->ops->carries && l->ops->kind == CODEC_ARRAY)
			continue;
		if (l->ops->kind != CODEC_ARRAY || !l->in.dtype || !l->out.dtype)
			r = -ENOTSUP;
		else
			r = one_behind(l, buf_span(ret), &next);
		const struct buf was = *ret;
		*ret = next;
		next = was;
	}
	if (r < 0)
		ret->len = 0;
	return r == -ENOMEM ? r : 0;
}

int
chain_note_fill(struct codec_chain *c)
{
	CLEAN(buf_free) struct buf fill = {0};
	int r = fill_behind(c, &fill);
	if (r < 0 || !fill.len)
		return r;
	free(c->fill);
	c->fill = malloc(fill.len);
	if (!c->fill)
		return err_set(-ENOMEM, "out of memory");
	memcpy(c->fill, fill.data, fill.len);
	return 0;
}

int
codec_chain_keeps_fill(const struct codec_chain *c)
{
	CLEAN(buf_free) struct buf behind = {0};
	CLEAN(buf_free) struct buf again = {0};
	for (size_t i = 0; i < c->n; i++)
		if (c->link[i].ops->kind != CODEC_ARRAY || !c->link[i].ops->each)
			return 0;
	const size_t size = c->array.bytes;
	int r = fill_behind(c, &behind);
	if (r == 0)
		r = buf_reserve(&again, size);
	if (r < 0 || !behind.len)
		return r;
	r = codec_chain_decode(c, NULL, buf_span(&behind), &again);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return !memcmp(again.data, c->array.fill, size);
}
