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

/* fewer: what is as short already stays as it is. */
static int
set_shapes_of(struct commit *c, struct edit_part *p, const char *fqn, uint64_t n, bool fewer)
{
	const struct node *b = p->before;
	int r = 0;
	if (b && b->array && b->array->rank && has_dim(b, 0, fqn)) {
		commit_touch(c, p->main);
		p->main->held = true;
	}
	for (unsigned i = 0; r == 0 && b && b->array && i < b->array->rank; i++)
		if (has_dim(b, i, fqn) && !(fewer && b->array->shape[i] <= n))
			r = set_shape(c, p, i, n);
	return r;
}

/* Each document is stored on condition, also one that stays as it is: of two commits that meet, the
 * one that is through has read what the other one left of all of them, or was read by it. That of
 * the array itself last: while it is what it was, a caller that tries again sees what is to
 * be done. */
static int
set_shapes(struct commit *c, struct edit_part *own, const char *fqn, uint64_t n, bool fewer)
{
	int r = 0;
	c->together = true; /* no shape says anything of another */
	for (size_t k = 0; k < c->parts && r == 0; k++)
		r = c->part[k] == own ? 0 : set_shapes_of(c, c->part[k], fqn, n, fewer);
	c->together = false;
	return r == 0 ? set_shapes_of(c, own, fqn, n, fewer) : r;
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
	s->overtaken = s->lead < s->seen && now != s->seen && now != s->lead;
	if (s->overtaken)
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

/* Arrays that an attempt has made longer are as long as it found them, where no other program has
 * stored them since. *ret_any: there were some. */
static int
set_back(struct commit *c, const struct edit_part *own, const char *fqn, bool *ret_any)
{
	int r = 0;
	*ret_any = false;
	for (size_t k = 0; r == 0 && k < c->parts; k++) {
		struct edit_part *p = c->part[k];
		const struct node *n = p->before;
		const struct left_length *l =
			p == own ? NULL : commit_left(c, p->main, p->main->version);
		if (!l || !n || !n->array || !n->array->rank || !has_dim(n, 0, fqn) ||
			n->array->shape[0] <= l->was)
			continue;
		r = set_shape(c, p, 0, l->was);
		commit_disown(c, p);
		*ret_any = true;
	}
	return r;
}

/* ZMAP_CHANGED: another program has stored some of them meanwhile, or the array itself. */
static int
take_back(struct commit *c, struct edit_part *own, const char *fqn)
{
	char version[ZMAP_VERSION];
	bool any;
	memcpy(version, own->main->version, sizeof version);
	int r = set_back(c, own, fqn, &any);
	if (r < 0 || !any)
		return r;
	r = commit_check(c);
	if (r == 0)
		r = commit_store(c);
	if (r == 0)
		r = doc_read(c, own->main);
	if (r == 0 && strcmp(version, own->main->version) != 0)
		r = ZMAP_CHANGED;
	return r == 0 ? commit_consolidate(c) : r;
}

/* Returns code, unless the next attempt is to see what is to be done. */
static int
give_up(struct commit *c, struct edit_part *own, const char *fqn, int code)
{
	struct err why;
	err_save(code, &why);
	return take_back(c, own, fqn) == ZMAP_CHANGED ? ZMAP_CHANGED : err_restore(&why);
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
	if (r < 0)
		return s->seen ? r : give_up(c, p, fqn, r);
	r = set_shapes(c, p, fqn, s->ret, s->lead < s->seen);
	if (r == 0 && at.doc)
		r = doc_set_number(c, at.doc, at.path, s->ret);
	return r;
}
