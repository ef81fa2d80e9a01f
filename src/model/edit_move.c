/* An array that gets another name in its group: its objects are copied, then one commit makes the
 * new documents and takes the old ones away, then what other writers have stored in between is
 * copied once more, and the old objects go. Nothing is there under the new name before, but for
 * what an attempt that broke off has copied: objects that are the same as the old ones. */
#include "base/err.h"
#include "base/list.h"
#include "base/path.h"
#include "model/edit_impl.h"
#include "model/meta_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const size_t OBJECT = (size_t)5 << 30; /* bytes: no store takes more at once */

struct move {
	const char *from;
	char *to, *group; /* its own */
	const char *from_name, *to_name;
	struct copy {
		char *from, *to;
		char version[ZMAP_VERSION]; /* that was copied */
		char made[ZMAP_VERSION];    /* of the copy */
		bool found;                 /* the copy was there */
	} * copy;
	size_t copies, next; /* next: where the one that is looked for mostly is */
	struct node *was;    /* as it was when that began */
	struct edit_part kind;
	struct buf main, attrs; /* documents as they were */
	bool has_attrs, again;
	bool some; /* objects are there under the new name */
};

static void
move_done(struct move *m)
{
	for (size_t i = 0; i < m->copies; i++) {
		free(m->copy[i].from);
		free(m->copy[i].to);
	}
	free(m->copy);
	free(m->group);
	free(m->to);
	node_unref(m->was);
	buf_free(&m->main);
	buf_free(&m->attrs);
}

/* --- its objects --- */

/* Listed in the same order each time, as a rule. */
static struct copy *
find_copy(struct move *m, const char *from)
{
	for (size_t i = 0; i < m->copies; i++) {
		const size_t at = (m->next + i) % m->copies;
		if (strcmp(m->copy[at].from, from) == 0) {
			m->next = at + 1;
			return &m->copy[at];
		}
	}
	return NULL;
}

static int
note_copy(struct move *m, const struct copy *of)
{
	struct copy new = *of;
	new.from = strdup(of->from);
	new.to = strdup(of->to);
	int r = new.from &&new.to ? LIST_ADD(m->copy, m->copies, "objects", new)
				  : err_set(-ENOMEM, "no memory for objects");
	if (r < 0) {
		free(new.from);
		free(new.to);
	}
	return r;
}

static int
there_is(const char *key)
{
	return err_set(-EEXIST, "there is a '%s' already", key);
}

/* 0: it holds these bytes. ZMAP_ABSENT; -EEXIST: it is another object. */
static int
compare(struct commit *c, const char *key, struct span bytes)
{
	CLEAN(buf_free) struct buf there = {0};
	const struct zmap_get g = {.key = key,
		.revalidate = true,
		.into = &there,
		.max = OBJECT,
		.deadline = c->deadline,
		.cancel = c->cancel};
	int r = zmap_get(c->model->zmap, &g, NULL);
	const bool same = r == 0 && there.len == bytes.len &&
			  (!bytes.len || !memcmp(there.data, bytes.data, bytes.len));
	return r || same ? r : there_is(key);
}

enum put_how {
	PUT_FIRST,   /* nothing is there under the new name, or the same */
	PUT_CHANGED, /* the copy becomes this */
	PUT_FOUND,   /* another mount may have taken the copy that was found away */
};

static int
put_copy(
	struct commit *c, const struct move *m, struct copy *k, enum put_how how, struct span bytes)
{
	struct zmap_stat st = {0};
	const struct zmap_put p = {.key = k->to,
		.bytes = bytes,
		.if_absent = how != PUT_CHANGED && c->model->zmap->caps & ZMAP_CONDITIONAL,
		.deadline = c->deadline,
		.cancel = c->cancel};
	int r = how == PUT_FOUND || (how == PUT_FIRST && m->some) ? compare(c, k->to, bytes)
								  : ZMAP_ABSENT;
	if (how == PUT_FIRST)
		k->found = r == 0;
	if (r == ZMAP_ABSENT) {
		r = zmap_put(c->model->zmap, &p, &st);
		memcpy(k->made, st.version, sizeof k->made);
	}
	if (r == ZMAP_CHANGED)
		r = there_is(k->to);
	return how == PUT_FOUND && r == -EEXIST ? 0 : r;
}

/* Documents are made by the commit. */
static int
copy_key(struct commit *c, struct move *m, const char *from, const char *to)
{
	CLEAN(buf_free) struct buf bytes = {0};
	struct copy *had = find_copy(m, from), new = {.from = (char *)from, .to = (char *)to};
	struct zmap_stat st = {0};
	const struct zmap_get g = {.key = from,
		.if_none_match = had && !had->found ? had->version : NULL,
		.revalidate = true,
		.into = &bytes,
		.max = OBJECT,
		.deadline = c->deadline,
		.cancel = c->cancel};
	int r = meta_is_name(path_name(from)) ? ZMAP_SAME : zmap_get(c->model->zmap, &g, &st);
	if (r == ZMAP_SAME || r == ZMAP_ABSENT) /* deleted by another writer */
		return 0;
	const bool same = had && had->found && *st.version && !strcmp(st.version, had->version);
	const enum put_how how = !had ? PUT_FIRST : same ? PUT_FOUND : PUT_CHANGED;
	if (r == 0)
		r = put_copy(c, m, had ? had : &new, how, buf_span(&bytes));
	memcpy(new.version, st.version, sizeof new.version);
	if (r == 0 && !had)
		r = note_copy(m, &new);
	return r < 0 ? err_add(r, "cannot copy '%s'", from) : 0;
}

/* Called for each object below one of the names, with what it is called below both. */
struct move_walk {
	struct commit *c;
	struct move *m;
	bool new; /* those below the new name */
	int (*fn)(struct commit *, struct move *, const char *from, const char *to);
};

static int
each_below(const struct move_walk *w, const char *from, const char *to, unsigned depth)
{
	CLEAN(keys_free) struct edit_keys k = {0};
	int r = zmap_list(w->c->model->zmap, w->new ? to : from, keys_keep, &k);
	for (size_t i = 0; r >= 0 && i < k.count; i++) {
		CLEAN(clean_free) char *old = NULL;
		CLEAN(clean_free) char *new = NULL;
		const char *end = k.prefix[i] ? "/" : "";
		if (asprintf(&old, "%s%s%s", from, k.of[i], end) < 0 ||
			asprintf(&new, "%s%s%s", to, k.of[i], end) < 0)
			return err_set(-ENOMEM, "no memory for a key");
		if (!k.prefix[i])
			r = w->fn(w->c, w->m, old, new);
		else if (depth < DEPTH_MAX)
			r = each_below(w, old, new, depth + 1);
	}
	return r < 0 ? r : 0;
}

static int
each_object(const struct move_walk *w)
{
	CLEAN(clean_free) char *old = NULL;
	CLEAN(clean_free) char *new = NULL;
	if (asprintf(&old, "%s/", w->m->from) < 0 || asprintf(&new, "%s/", w->m->to) < 0)
		return err_set(-ENOMEM, "no memory for a prefix");
	return each_below(w, old, new, 0);
}

/* All that has changed since the last time. */
static int
copy_all(struct commit *c, struct move *m)
{
	m->next = 0;
	return each_object(&(struct move_walk){c, m, false, copy_key});
}

/* Of an object under the new name: is there one of that size under the old name? */
static int
check_object(struct commit *c, struct move *m, const char *from, const char *to)
{
	struct zmap_stat old = {0}, new = {0};
	int r = meta_is_name(path_name(to)) ? there_is(to)
					    : zmap_stat_while(c->model->zmap, to, c->cancel, &new);
	m->some = true;
	if (r)
		return r == ZMAP_ABSENT ? 0 : r;
	r = zmap_stat_while(c->model->zmap, from, c->cancel, &old);
	return r == ZMAP_ABSENT || (r == 0 && old.size != new.size) ? there_is(to) : r;
}

/* Nothing is there but what this would put there. */
static int
check_place(struct commit *c, struct move *m)
{
	return each_object(&(struct move_walk){c, m, true, check_object});
}

/* Of the array's main document. */
static int
stat_main(const struct commit *c, const struct move *m, const char *path)
{
	struct zmap_stat st;
	CLEAN(clean_free)
	char *key = path_in(path, meta_name[m->kind.v3 ? META_V3 : META_ARRAY][0]);
	return key ? zmap_stat(c->model->zmap, key, &st) : err_set(-ENOMEM, "no memory for a key");
}

/* Another mount that renames the array, too, may have found the copies, so that it made none of its
 * own. As long as the old document is there it has yet to look whether they are; then the new one
 * is, and they are all that is left. */
static bool
may_uncopy(const struct commit *c, const struct move *m)
{
	const int r = stat_main(c, m, m->from);
	return r == ZMAP_ABSENT ? stat_main(c, m, m->to) == ZMAP_ABSENT : r == 0;
}

/* It did not come to that: what was copied goes, unless another program has replaced it. Returns
 * code. */
static int
uncopy(struct commit *c, struct move *m, int code)
{
	struct err why;
	err_save(code, &why);
	for (size_t i = 0; i < m->copies; i++) {
		const struct copy *k = &m->copy[i];
		const bool knows = *k->made && c->model->zmap->caps & ZMAP_CONDITIONAL;
		const struct zmap_del d = {.key = k->to, .if_match = knows ? k->made : NULL};
		if (k->found)
			continue;
		int r = may_uncopy(c, m) ? zmap_del(c->model->zmap, &d) : -ENOENT;
		if (r < 0 && r != -ENOTSUP)
			break;
	}
	return err_restore(&why);
}

/* --- its documents --- */

static int
keep_text(const struct edit_doc *d, struct buf *ret)
{
	buf_free(ret);
	return buf_add(ret, d->text.data, d->text.len);
}

static bool
is_same(const struct array_meta *a, const struct array_meta *b)
{
	return b && a->layout == b->layout && a->rank == b->rank &&
	       (!a->rank || !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape));
}

static int
take_old(struct commit *c, struct move *m)
{
	struct edit_part *p;
	int r = commit_part(c, m->from, &p);
	if (r == ZMAP_ABSENT)
		return m->again ? 0 : err_set(-ENOENT, "there is no '%s'", m->from);
	if (r == 0 && !(p->array && p->before->array))
		r = err_set(-EINVAL, "'%s' is no array", m->from);
	if (r == 0 && m->was && !is_same(m->was->array, p->before->array))
		r = err_set(-EIO, "'%s' became something else meanwhile", m->from);
	if (r < 0)
		return r;
	if (!m->was)
		m->was = node_ref(p->before);
	m->kind = (struct edit_part){
		.v3 = p->v3, .array = true, .nczarr = p->nczarr, .reals = p->reals};
	m->has_attrs = p->attrs != p->main && p->attrs->there;
	r = keep_text(p->main, &m->main);
	if (r == 0 && m->has_attrs)
		r = keep_text(p->attrs, &m->attrs);
	return r;
}

static int
set_new(struct commit *c, struct move *m, struct edit_part *group)
{
	struct edit_part *p;
	int r = commit_open_part(c, group, m->to, &m->kind, &p);
	if (r == 0)
		r = commit_check_free(c, p, &m->main, m->again);
	if (r == 0 && m->has_attrs)
		r = commit_set_text(c, p->attrs, &m->attrs);
	return r < 0 ? r : commit_set_text(c, p->main, &m->main);
}

static int
drop_old(struct commit *c, const struct move *m)
{
	struct edit_part *p;
	int r = commit_part(c, m->from, &p);
	if (r < 0 || r == ZMAP_ABSENT)
		return r < 0 ? r : 0;
	commit_drop_doc(c, p->main);
	if (p->attrs != p->main)
		commit_drop_doc(c, p->attrs);
	return 0;
}

static int
move_node(struct commit *c, void *arg)
{
	struct move *m = arg;
	struct edit_part *group;
	int r = take_old(c, m);
	if (r == 0)
		r = commit_part(c, m->group, &group);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENOENT, "there is no group '%s'", m->group);
	if (r == 0)
		r = part_check_pure(c, group);
	if (r == 0 && group->nczarr)
		r = part_need_nczarr(c, group);
	if (r == 0)
		r = set_new(c, m, group);
	if (r == 0 && group->nczarr)
		r = part_add_name(c, group, true, m->to_name);
	if (r == 0 && !m->kind.v3)
		r = part_drop_name(c, group, true, m->from_name);
	if (r == 0)
		r = drop_old(c, m);
	m->again |= r == 0;
	return r;
}

/* Could that be? Nothing is stored. */
static int
plan(struct move *m, struct model *model, struct cancel *cancel)
{
	CLEAN(commit_done)
	struct commit c = {.model = model,
		.cancel = cancel,
		.plan = true,
		.deadline = clock_now() + model->opt.timeout};
	int r = move_node(&c, m);
	m->again = false;
	return r;
}

static int
begin(struct commit *c, struct move *m, const char *from, const char *name)
{
	m->from = from;
	m->from_name = path_name(from);
	m->to_name = name;
	m->group = path_above(from);
	m->to = m->group ? path_in(m->group, name) : NULL;
	if (!m->to)
		return err_set(-ENOMEM, "no memory for a path");
	if (!(c->model->zmap->caps & ZMAP_LIST))
		return err_set(-ENOTSUP, "a store that does not list what it has");
	int r = commit_check_name(m->to, name);
	if (r == 0)
		r = plan(m, c->model, c->cancel);
	return r < 0 ? r : check_place(c, m);
}

int
model_may_move(struct model *model, const char *from, const char *name, struct cancel *cancel)
{
	CLEAN(move_done) struct move m = {0};
	CLEAN(commit_done) struct commit c = {.model = model, .cancel = cancel};
	return begin(&c, &m, from, name);
}

int
model_move_array(struct model *model, const char *from, const char *name, struct cancel *cancel)
{
	CLEAN(commit_done)
	struct commit c = {.model = model, .cancel = cancel, .emptying = true};
	CLEAN(move_done) struct move m = {0};
	int r = begin(&c, &m, from, name);
	if (r == 0)
		r = copy_all(&c, &m);
	c.deadline = clock_now() + model->opt.timeout;
	if (r == 0)
		r = commit_run(&c, move_node, &m);
	if (r < 0 && !atomic_load(&c.stored))
		r = uncopy(&c, &m, r);
	if (r < 0)
		return err_add(r, "cannot rename '%s'", from);
	c.deadline = 0; /* as long as it takes */
	r = copy_all(&c, &m);
	return r < 0 ? r : commit_empty(&c, from);
}
