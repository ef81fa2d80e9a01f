/* Which objects lie behind the end of an array: as a listing says, for many of them. */
#include "view/flats.h"

#include "view/state.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct listing {
	const struct array_meta *array;
	uint64_t first, end;
	struct cancel *cancel;
	struct buf *rows; /* uint64_t each */
};

/* Of a name such as "5", "5.0.1" or "c.5.0": its leading index. */
static int
take_name(void *arg, const char *name, bool prefix, const struct zmap_stat *st)
{
	struct listing *l = arg;
	const struct array_meta *a = l->array;
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

int
flat_list_objects(struct mount *m, const struct node *n, uint64_t first, uint64_t end,
	struct cancel *cancel, struct buf *ret)
{
	CLEAN(buf_free) struct buf prefix = {0};
	struct listing l = {n->array, first, end, cancel, ret};
	const bool folder = n->array->key_form == 'c' && n->array->separator == '/';
	int r = buf_addf(&prefix, "%s%s%s", n->path, *n->path ? "/" : "", folder ? "c/" : "");
	if (r == 0)
		r = buf_add(&prefix, "", 1);
	if (r == 0)
		r = zmap_list(m->zmap, (const char *)prefix.data, take_name, &l);
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
