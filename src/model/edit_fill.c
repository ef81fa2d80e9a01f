/* The fill value of an array that is there: it may become another one where no chunk is missing,
 * for then no reader has met it yet. */
#include "base/check.h"
#include "base/err.h"
#include "model/edit_impl.h"
#include "model/encode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct chunks {
	struct model *model;
	const struct array_meta *array;
	uint64_t found;
};

enum { DIGITS = 18 }; /* of an index, at most */

/* The index of a chunk along one dimension, as it stands at the start of a name. Where it ends;
 * NULL: there is none. */
static const char *
index_of(const char *s, const struct array_meta *a, unsigned dim)
{
	const uint64_t n = ceil_div(a->shape[dim], a->chunk[dim]);
	const char *at = s;
	uint64_t i = 0;
	while (*at >= '0' && *at <= '9' && at - s < DIGITS)
		i = 10 * i + (uint64_t)(*at++ - '0');
	return at == s || i >= n || (*s == '0' && at > s + 1) ? NULL : at;
}

/* Is that the name of a chunk, from this dimension on? */
static bool
is_chunk(const char *name, const struct array_meta *a, unsigned dim)
{
	const char *at = name;
	if (!a->rank)
		return !strcmp(name, "0");
	for (; at && dim < a->rank; dim++) {
		at = index_of(at, a, dim);
		if (at && dim + 1 < a->rank)
			at = *at == a->separator ? at + 1 : NULL;
	}
	return at && !*at;
}

/* Of a folder in which names begin with that dimension. */
static int
count_in(struct chunks *c, const char *prefix, unsigned dim)
{
	CLEAN(keys_free) struct edit_keys k = {0};
	const struct array_meta *a = c->array;
	int r = zmap_list(c->model->zmap, prefix, keys_keep, &k);
	for (size_t i = 0; r >= 0 && i < k.count; i++) {
		CLEAN(clean_free) char *below = NULL;
		if (!k.prefix[i]) {
			c->found += is_chunk(k.of[i], a, dim);
			continue;
		}
		const char *end =
			a->separator == '/' && dim + 1 < a->rank ? index_of(k.of[i], a, dim) : NULL;
		if (!end || *end)
			continue;
		if (asprintf(&below, "%s%s/", prefix, k.of[i]) < 0)
			return err_set(-ENOMEM, "no memory for a key");
		r = count_in(c, below, dim + 1);
	}
	return r < 0 ? r : 0;
}

int
fill_is_free(struct model *m, const struct node *n)
{
	CLEAN(clean_free) char *prefix = NULL;
	const struct array_meta *a = n->array;
	struct chunks c = {.model = m, .array = a};
	uint64_t all = 1;
	if (!(m->zmap->caps & ZMAP_LIST))
		return err_set(
			-EINVAL, "the store does not list which chunks of '%s' it has", n->path);
	for (unsigned i = 0; i < a->rank; i++)
		if (__builtin_mul_overflow(all, ceil_div(a->shape[i], a->chunk[i]), &all))
			return err_set(-EINVAL, "'%s' has too many chunks", n->path);
	if (asprintf(&prefix, "%s%s", n->path, *n->path ? "/" : "") < 0)
		return err_set(-ENOMEM, "no memory for a key");
	int r = count_in(&c, prefix, 0);
	if (r == 0 && c.found < all)
		r = err_set(-EINVAL,
			"%" PRIu64 " of %" PRIu64
			" chunks of '%s' are missing: they hold its fill value, which must stay",
			all - c.found, all, n->path);
	return r;
}

int
part_set_fill(struct commit *c, struct edit_part *p, const uint8_t *fill)
{
	static const char *const at[] = {"fill_value", NULL};
	CLEAN(buf_free) struct buf value = {0};
	int r = fill_is_free(c->model, p->before);
	if (r == 0)
		r = fill ? encode_fill(&p->before->array->dtype, fill, false, false, &value)
			 : buf_add(&value, "null", 4);
	return r < 0 ? r : doc_set(c, p->main, at, buf_span(&value));
}
