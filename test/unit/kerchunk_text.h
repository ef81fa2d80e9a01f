/* A text for kerchunk_json_read that comes in pieces of a given size. */
#pragma once

#include "backends/kerchunk/json.h"
#include "base/check.h"

struct piecewise {
	struct kerchunk_text text;
	struct span left;
	size_t piece;
};

static int
piecewise_more(struct kerchunk_text *t, size_t wish, struct buf *into)
{
	struct piecewise *p = (struct piecewise *)t;
	size_t n = (size_t)min_u64(min_u64(p->piece, wish), p->left.len);
	if (!n)
		return 0;
	int r = buf_add(into, p->left.data, n);
	p->left.data += n;
	p->left.len -= n;
	return r < 0 ? r : 1;
}

static inline int
read_piecewise(struct span json, size_t piece, size_t most, struct kerchunk_table **ret)
{
	struct piecewise p = {{piecewise_more}, json, piece};
	return kerchunk_json_read(&p.text, most, ret);
}
