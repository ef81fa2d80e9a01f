/* A dimension that gets another length: the shape of every array that has it, then what NCZarr
 * declares. */
#include "base/err.h"
#include "base/json_edit.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int
set_shape(struct commit *c, struct edit_part *p, unsigned at, uint64_t n)
{
	static const char *const shape[] = {"shape", NULL};
	const struct span was = doc_find(p->main, shape);
	char text[24];
	if (was.len && *was.data != '[') /* a number that stands for itself */
		return doc_set_number(c, p->main, shape, n);
	int len = snprintf(text, sizeof text, "%" PRIu64, n);
	commit_touch(c, p->main);
	int r = json_edit_at(
		&p->main->text, shape, at, (struct span){(const uint8_t *)text, (size_t)len});
	return r < 0 ? err_add(r, "cannot change '%s'", p->main->key) : 0;
}

static bool
has_dim(const struct node *n, unsigned i, const char *fqn)
{
	const char *own = n->array->dim[i].fqn;
	return fqn ? own && !strcmp(own, fqn) : i == 0;
}

/* The longest that the dimension has in any of the parts. */
static uint64_t
longest(const struct commit *c, const char *fqn)
{
	uint64_t most = 0;
	for (size_t k = 0; k < c->parts; k++) {
		const struct node *n = c->part[k]->before;
		for (unsigned i = 0; n && n->array && i < n->array->rank; i++)
			if (has_dim(n, i, fqn) && n->array->shape[i] > most)
				most = n->array->shape[i];
	}
	return most;
}

static int
set_shapes_of(struct commit *c, struct edit_part *p, const char *fqn, uint64_t n)
{
	const struct node *b = p->before;
	int r = 0;
	for (unsigned i = 0; r == 0 && b && b->array && i < b->array->rank; i++)
		if (has_dim(b, i, fqn))
			r = set_shape(c, p, i, n);
	return r;
}

/* That of the array itself last: while it is what it was, a caller that tries again sees what is to
 * be done. */
static int
set_shapes(struct commit *c, struct edit_part *own, const char *fqn, uint64_t n)
{
	int r = 0;
	c->together = true; /* no shape says anything of another */
	for (size_t k = 0; k < c->parts && r == 0; k++)
		r = c->part[k] == own ? 0 : set_shapes_of(c, c->part[k], fqn, n);
	c->together = false;
	return r == 0 ? set_shapes_of(c, own, fqn, n) : r;
}

static int
named_parts(struct commit *c, const struct edit_size *s, bool v3)
{
	int r = commit_read_arrays(c, s->with, s->nwith, v3);
	for (size_t i = 0; r == 0 && i < s->nwith; i++) {
		struct edit_part *p;
		r = commit_part(c, s->with[i], &p);
		if (r == ZMAP_ABSENT || (r == 0 && !(p->before->array && p->before->array->rank)))
			r = err_set(-EIO, "'%s' is no array any more", s->with[i]);
	}
	return r;
}

/* What the dimension is to be: where it grew meanwhile, growth is done already. */
static int
settle(struct edit_size *s, const char *name, uint64_t now, uint64_t most)
{
	if (s->lead < s->seen && now != s->seen && now != s->lead)
		return err_set(-EIO, "%s has %" PRIu64 " elements by now instead of %" PRIu64, name,
			now, s->seen);
	if (now < s->least)
		return err_set(-EIO,
			"another program has made %s shorter meanwhile: it has %" PRIu64
			" elements instead of %" PRIu64,
			name, now, s->least);
	s->ret = s->lead < s->seen ? s->lead : s->lead > most ? s->lead : most;
	return 0;
}

/* Each array that gets the length, while its documents are as they were read. The commit has as
 * much time as before: it may be one of many objects that are looked at, each in time. */
static int
check_parts(struct commit *c, const struct edit_size *s)
{
	const int64_t begun = clock_now();
	int r = 0;
	for (size_t k = 0; s->check && r == 0 && k < c->parts; k++) {
		const struct node *n = c->part[k]->before;
		if (n && n->array && n->array->rank)
			r = s->check(n, s->check_arg);
	}
	c->deadline += clock_now() - begun;
	return r;
}

int
commit_resize(struct commit *c, struct edit_size *s)
{
	struct declared_dim at = {0};
	struct edit_part *p, *group;
	int r = commit_part(c, s->path, &p);
	if (r == 0)
		r = part_check_pure(c, p);
	if (r < 0)
		return r;
	const char *fqn = p->before->array->dim[0].fqn;
	r = fqn ? commit_share(c, p, fqn, &group, &at) : named_parts(c, s, p->v3);
	if (r < 0)
		return r;
	uint64_t most = longest(c, fqn), now = p->before->array->shape[0];
	if (at.size > most)
		most = at.size;
	r = settle(s, fqn ? fqn : s->path, now, most);
	if (r == 0)
		r = check_parts(c, s);
	if (r == 0)
		r = set_shapes(c, p, fqn, s->ret);
	if (r == 0 && at.doc)
		r = doc_set_number(c, at.doc, at.path, s->ret);
	return r;
}
