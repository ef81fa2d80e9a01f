#include "base/buf.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool
span_repeats(struct span s, const void *item, size_t size)
{
	return size && s.len >= size && !memcmp(s.data, item, size) &&
	       !memcmp(s.data, s.data + size, s.len - size);
}

bool
span_differs(struct span s, const uint8_t *was, size_t *from, size_t *ret_to)
{
	size_t at = *from;
	while (at < s.len && s.data[at] == was[at])
		at++;
	*from = at;
	while (at < s.len && s.data[at] != was[at])
		at++;
	*ret_to = at;
	return *from < at;
}

static int
reserve(struct buf *b, size_t cap, void *(*get)(size_t *size))
{
	if (cap <= b->cap)
		return 0;
	size_t size = cap;
	uint8_t *p = get(&size);
	if (!p)
		return err_set(-ENOMEM, "no memory for %zu bytes", cap);
	if (b->len)
		memcpy(p, b->data, b->len);
	mem_put(b->data, b->cap);
	b->data = p;
	b->cap = size;
	return 0;
}

int
buf_reserve(struct buf *b, size_t cap)
{
	return reserve(b, cap, mem_get);
}

int
buf_reserve_most(struct buf *b, size_t cap)
{
	return reserve(b, cap, mem_get_bare);
}

void
buf_fit(struct buf *b)
{
	b->cap = mem_cut(b->data, b->cap, b->len);
}

static int
grow(struct buf *b, size_t more)
{
	size_t need;
	if (__builtin_add_overflow(b->len, more, &need))
		return err_set(-ENOMEM, "size overflow");
	if (need <= b->cap)
		return 0;
	return buf_reserve(b, need < 2 * b->cap ? 2 * b->cap : need);
}

int
buf_add(struct buf *b, const void *data, size_t len)
{
	int r = grow(b, len);
	if (r < 0 || !len)
		return r;
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

int
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	int r = n < 0 ? err_set(-ENOMEM, "text too long") : grow(b, (size_t)n + 1);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

int
buf_terminate(struct buf *b)
{
	int r = grow(b, 1);
	if (r == 0)
		b->data[b->len] = 0;
	return r;
}

void
buf_free(struct buf *b)
{
	mem_put(b->data, b->cap);
	*b = (struct buf){0};
}
