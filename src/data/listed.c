/* Which objects of an array are there: as a listing says, where many may be. */
#include "data/array_impl.h"

#include "base/check.h"
#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct chunk_listing {
	const struct array *array;
	uint64_t first, end;
	struct cancel *cancel;
	struct buf *rows; /* uint64_t each */
};

/* Of a name such as "5", "5.0.1" or "c.5.0": its leading index. */
static int
take_name(void *arg, const char *name, bool prefix, const struct zmap_stat *st)
{
	struct chunk_listing *l = arg;
	const struct array *a = l->array;
	char *end = NULL;
	const int r = zmap_patience(0, l->cancel);
	if (r < 0)
		return r;
	if (a->key_form == 'c' && a->separator != '/') {
		if (name[0] != 'c' || name[1] != a->separator)
			return 0;
		name += 2;
	}
	if (!isdigit((unsigned char)*name))
		return 0;
	errno = 0;
	const uint64_t row = strtoull(name, &end, 10);
	if (errno || row < l->first || row >= l->end || (*end && *end != a->separator))
		return 0;
	return buf_add(l->rows, &row, sizeof row);
}

static int
by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static int
list(struct chunk_listing *l)
{
	CLEAN(buf_free) struct buf prefix = {0};
	const struct array *a = l->array;
	struct buf *ret = l->rows;
	int r = buf_addf(
		&prefix, "%s%s", a->key, a->key_form == 'c' && a->separator == '/' ? "c/" : "");
	if (r == 0)
		r = buf_terminate(&prefix);
	if (r == 0)
		r = zmap_list(a->zmap, (const char *)prefix.data, take_name, l);
	if (r < 0)
		return r;
	uint64_t *row = (uint64_t *)(void *)ret->data;
	size_t count = ret->len / sizeof *row, kept = 0;
	if (count)
		qsort(row, count, sizeof *row, by_number);
	for (size_t i = 0; i < count; i++)
		if (!i || row[i] != row[i - 1])
			row[kept++] = row[i];
	ret->len = kept * sizeof *row;
	return 0;
}

/* Those that share a leading index. */
static uint64_t
objects_of_row(const struct array *a)
{
	uint64_t n = 1;
	for (unsigned d = 1; d < a->grid.rank; d++)
		n *= ceil_div(a->grid.count[d], a->shard ? a->in_shard[d] : 1);
	return n;
}

/* So many are looked at sooner than all that the array has are listed: of a remote store as many as
 * that takes requests. */
static uint64_t
few(const struct array *a, uint64_t first, uint64_t per)
{
	enum { FEW = 1 << 16, PAGE = 1000 };
	return a->remote ? 1 + first * (a->separator == '/' ? 1 : per) / PAGE : FEW;
}

int
array_find_objects(struct array *a, uint64_t first, uint64_t end, uint64_t most,
	struct cancel *cancel, struct buf *ret)
{
	struct chunk_listing l = {a, first, end, cancel, ret};
	const uint64_t per = objects_of_row(a);
	int r = 0;
	if (first >= end)
		return 0;
	if (end - first > few(a, first, per) / per) {
		r = list(&l);
		if (r == 0 || !array_may_not_list(r))
			return r;
		ret->len = 0;
		if (end - first > most / per)
			return r;
	}
	for (r = 0; first < end && r == 0; first++)
		r = buf_add(ret, &first, sizeof first);
	return r;
}

bool
array_may_not_list(int code)
{
	return code == -EFBIG || code == -EACCES || code == -ENOSYS;
}
