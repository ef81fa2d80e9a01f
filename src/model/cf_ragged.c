#include "model/cf_ragged.h"

#include "model/cf.h"

#include <string.h>

static int
add(struct buf *list, const struct cf_ragged *c)
{
	int r = buf_add(list, c->name, strlen(c->name) + 1);
	if (r == 0)
		r = buf_add(list, c->samples, strlen(c->samples) + 1);
	return r < 0 ? r : buf_add(list, c->instances, strlen(c->instances) + 1);
}

/* What counts samples lies along the instances; what has an index for each sample lies along the
 * samples. */
static int
add_by_attrs(const struct node *n, const struct attrs *as, struct buf *list)
{
	const char *own = n->array->dim[0].name;
	const char *samples = attrs_text(as, "sample_dimension");
	const char *instances = attrs_text(as, "instance_dimension");
	if (samples && *samples)
		return add(list, &(struct cf_ragged){n->name, samples, own});
	if (instances && *instances)
		return add(list, &(struct cf_ragged){n->name, own, instances});
	return attrs_find(as, "cf_role") ? add(list, &(struct cf_ragged){n->name, "", own}) : 0;
}

static const char *const marks[] = {"sample_dimension", "instance_dimension", "cf_role", NULL};

bool
cf_ragged_mark(const char *attribute)
{
	for (const char *const *p = marks; *p; p++)
		if (strcmp(attribute, *p) == 0)
			return true;
	return false;
}

/* A search of the text first, as most arrays are none. */
static bool
mentions_any(const struct node *n)
{
	for (const char *const *p = marks; n->attrs_text && *p; p++)
		if (memmem(n->attrs_text, n->attrs_len, *p, strlen(*p)))
			return true;
	return false;
}

int
cf_ragged_add(const struct node *n, struct buf *list)
{
	struct attrs as = {0};
	if (!n->array || !n->array->rank || !n->array->dim[0].name || !mentions_any(n))
		return 0;
	int r = node_attrs(n, &as);
	if (r == 0)
		r = add_by_attrs(n, &as, list);
	attrs_free(&as);
	return r;
}

static const char *
next_text(const struct buf *list, size_t *at)
{
	const char *text = (const char *)list->data + *at;
	*at += strlen(text) + 1;
	return text;
}

bool
cf_ragged_next(const struct buf *list, size_t *at, struct cf_ragged *ret)
{
	if (*at >= list->len)
		return false;
	ret->name = next_text(list, at);
	ret->samples = next_text(list, at);
	ret->instances = next_text(list, at);
	return true;
}
