/* Documents that a commit changes: read once an attempt, stored on condition. */
#include "base/err.h"
#include "base/json_edit.h"
#include "base/list.h"
#include "base/path.h"
#include "model/edit_impl.h"
#include "model/parallel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for a document");
}

static void
doc_free(struct edit_doc *d)
{
	if (!d)
		return;
	free(d->key);
	buf_free(&d->text);
	buf_free(&d->was);
	free(d);
}
CLEAN_DEFINE(struct edit_doc, doc_free)

void
docs_forget(struct commit *c)
{
	for (size_t i = 0; i < c->docs; i++)
		doc_free(c->doc[i]);
	free(c->doc);
	c->doc = NULL;
	c->docs = 0;
	c->turns = 0;
}

int
doc_read(struct commit *c, struct edit_doc *d)
{
	CLEAN(buf_free) struct buf now = {0};
	struct zmap_stat st = {0};
	const struct zmap_get g = {
		.key = d->key,
		.if_none_match = d->there && *d->version ? d->version : NULL,
		.revalidate = true,
		.into = &now,
		.max = c->model->opt.meta_max,
		.deadline = c->deadline,
		.cancel = c->cancel,
	};
	int r = zmap_get(c->model->zmap, &g, &st);
	if (r < 0)
		return err_add(r, "cannot read '%s'", d->key);
	if (r == ZMAP_SAME)
		return 0;
	buf_free(&d->text);
	buf_free(&d->was);
	d->there = d->want = r != ZMAP_ABSENT;
	memcpy(d->version, st.version, sizeof d->version);
	d->mtime = st.mtime;
	if (!d->there)
		return 0;
	if (now.len && buf_add(&d->was, now.data, now.len) < 0)
		return no_memory();
	d->text = now;
	now = (struct buf){0};
	return 0;
}

static struct edit_doc *
find_doc(const struct commit *c, const char *key)
{
	for (size_t i = 0; i < c->docs; i++)
		if (!strcmp(c->doc[i]->key, key))
			return c->doc[i];
	return NULL;
}

static int
add_doc(struct commit *c, struct edit_doc *d)
{
	return LIST_ADD(c->doc, c->docs, "a change", d);
}

/* The same done to several documents at once, where each costs a round trip. */
struct many {
	struct commit *commit;
	struct edit_doc **doc;
	struct doc_outcome {
		int result;
		struct err err;
	} * outcome;
	int (*fn)(struct commit *, struct edit_doc *);
};

static void
do_one(void *arg, size_t i)
{
	const struct many *m = arg;
	m->outcome[i].result = m->fn(m->commit, m->doc[i]);
	if (m->outcome[i].result < 0)
		err_save(m->outcome[i].result, &m->outcome[i].err);
}

/* The first failure, else what is no success, else 0. */
static int
do_many(struct commit *c, struct edit_doc **doc, size_t n,
	int (*fn)(struct commit *, struct edit_doc *))
{
	CLEAN(clean_free) struct doc_outcome *outcome = calloc(n + 1, sizeof *outcome);
	struct many m = {c, doc, outcome, fn};
	int other = 0;
	if (!outcome)
		return no_memory();
	in_parallel(n, n > 1 && c->model->zmap->caps & ZMAP_REMOTE, do_one, &m);
	for (size_t i = 0; i < n; i++) {
		if (outcome[i].result < 0)
			return err_restore(&outcome[i].err);
		other = outcome[i].result ? outcome[i].result : other;
	}
	return other;
}

int
docs_read(struct commit *c, struct edit_doc **doc, size_t n)
{
	return do_many(c, doc, n, doc_read);
}

int
commit_read(struct commit *c, const struct doc_name *name, size_t n)
{
	CLEAN(clean_free) struct edit_doc **new = calloc(n + 1, sizeof *new);
	size_t count = 0;
	int r = new ? 0 : no_memory();
	for (size_t i = 0; r == 0 && i < n; i++) {
		CLEAN(doc_freep) struct edit_doc *d = calloc(1, sizeof *d);
		if (!d || !(d->key = path_in(name[i].path, name[i].name)))
			return no_memory();
		if (find_doc(c, d->key))
			continue;
		r = add_doc(c, d);
		if (r == 0)
			new[count++] = MOVE(d);
	}
	return r < 0 ? r : docs_read(c, new, count);
}

int
commit_doc(struct commit *c, const char *path, const char *name, struct edit_doc **ret)
{
	CLEAN(clean_free) char *key = path_in(path, name);
	int r = key ? commit_read(c, &(struct doc_name){path, name}, 1) : no_memory();
	if (r == 0)
		*ret = find_doc(c, key);
	return r;
}

void
commit_touch(struct commit *c, struct edit_doc *d)
{
	d->turn = ++c->turns;
	d->together = c->together;
	d->want = true;
}

static int
refused(const struct edit_doc *d, int r)
{
	return err_add(r, "cannot change '%s'", d->key);
}

int
doc_set(struct commit *c, struct edit_doc *d, const char *const *path, struct span value)
{
	commit_touch(c, d);
	int r = d->text.len ? 0 : buf_add(&d->text, "{}", 2);
	if (r == 0)
		r = d->ascii ? json_edit_set_ascii(&d->text, path, value)
			     : json_edit_set(&d->text, path, value);
	return r < 0 ? refused(d, r) : 0;
}

int
doc_set_text_at(
	struct commit *c, struct edit_doc *d, const char *const *path, size_t at, const char *text)
{
	CLEAN(buf_free) struct buf value = {0};
	int r = json_quote(text, strlen(text), &value);
	commit_touch(c, d);
	if (r == 0 && d->ascii)
		r = json_to_ascii(&value);
	if (r == 0)
		r = json_edit_at(&d->text, path, at, buf_span(&value));
	return r < 0 ? refused(d, r) : 0;
}

int
doc_set_number(struct commit *c, struct edit_doc *d, const char *const *path, uint64_t n)
{
	char text[24];
	int len = snprintf(text, sizeof text, "%" PRIu64, n);
	return doc_set(c, d, path, (struct span){(const uint8_t *)text, (size_t)len});
}

int
doc_del(struct commit *c, struct edit_doc *d, const char *const *path)
{
	if (!d->want)
		return 0;
	commit_touch(c, d);
	int r = json_edit_del(&d->text, path);
	return r < 0 ? refused(d, r) : 0;
}

struct span
doc_find(const struct edit_doc *d, const char *const *path)
{
	struct span found = {0};
	if (d && d->want && json_edit_find(buf_span(&d->text), path, &found) < 0)
		found = (struct span){0};
	return found;
}

int
doc_meta(const struct edit_doc *d, struct meta *ret)
{
	CLEAN(buf_free) struct buf copy = {0};
	if (!d || !d->want)
		return 0;
	if (d->text.len && buf_add(&copy, d->text.data, d->text.len) < 0)
		return no_memory();
	int r = text_new(&copy, &ret->owner);
	if (r < 0)
		return r;
	ret->data = ret->owner->bytes.len ? (const char *)ret->owner->bytes.data : "";
	ret->len = ret->owner->bytes.len;
	ret->mtime = d->mtime;
	memcpy(ret->version, d->version, sizeof ret->version);
	return 0;
}

static bool
differs(const struct edit_doc *d)
{
	return d->there != d->want ||
	       (d->want &&
		       (d->text.len != d->was.len ||
			       (d->text.len && memcmp(d->text.data, d->was.data, d->text.len))));
}

int
doc_put(struct commit *c, struct edit_doc *d)
{
	struct zmap *z = c->model->zmap;
	const bool conditional = z->caps & ZMAP_CONDITIONAL;
	struct zmap_stat st = {0};
	const struct zmap_put p = {
		.key = d->key,
		.bytes = buf_span(&d->text),
		.if_match = conditional && d->there && *d->version ? d->version : NULL,
		.if_absent = conditional && !d->there,
		.deadline = c->deadline,
		.cancel = c->cancel,
	};
	CLEAN(buf_free) struct buf copy = {0};
	if (buf_add(&copy, d->text.data, d->text.len) < 0)
		return no_memory();
	int r = zmap_put(z, &p, &st);
	if (r == ZMAP_CHANGED)
		atomic_store(&c->refused, d);
	if (r)
		return r < 0 ? err_add(r, "cannot store '%s'", d->key) : r;
	c->stored = d->put = true;
	memcpy(d->over, d->version, sizeof d->over);
	buf_free(&d->was);
	d->was = copy;
	copy = (struct buf){0};
	d->there = true;
	memcpy(d->version, st.version, sizeof d->version);
	return 0;
}

/* On condition where the store can: what another writer changed meanwhile is looked at again. */
static int
doc_drop(struct commit *c, struct edit_doc *d)
{
	struct zmap *z = c->model->zmap;
	struct zmap_del g = {
		.key = d->key,
		.if_match = z->caps & ZMAP_CONDITIONAL && *d->version ? d->version : NULL,
		.deadline = c->deadline,
		.cancel = c->cancel,
	};
	int r = zmap_del(z, &g);
	if (r == -ENOTSUP && g.if_match) {
		g.if_match = NULL;
		r = zmap_del(z, &g);
	}
	if (r == ZMAP_CHANGED || r < 0)
		return r < 0 ? err_add(r, "cannot delete '%s'", d->key) : r;
	c->stored = true;
	d->there = false;
	*d->version = 0;
	return 0;
}

static int
by_turn(const void *a, const void *b)
{
	unsigned x = (*(struct edit_doc *const *)a)->turn, y = (*(struct edit_doc *const *)b)->turn;
	return (x > y) - (x < y);
}

static int
store_one(struct commit *c, struct edit_doc *d)
{
	return !d->turn || !(d->held || differs(d)) ? 0 : d->want ? doc_put(c, d) : doc_drop(c, d);
}

int
commit_store(struct commit *c)
{
	bool any = false;
	int r = 0;
	for (size_t i = 0; i < c->docs; i++)
		any |= c->doc[i]->turn && differs(c->doc[i]);
	if (!any)
		return 0;
	if (c->docs)
		qsort(c->doc, c->docs, sizeof *c->doc, by_turn);
	for (size_t i = 0, n; r == 0 && i < c->docs; i += n) {
		for (n = 1; i + n < c->docs && c->doc[i]->together && c->doc[i + n]->together;)
			n++;
		r = do_many(c, c->doc + i, n, store_one);
	}
	return r;
}

const struct left_length *
commit_left(const struct commit *c, const struct edit_doc *d, const char *version)
{
	for (size_t i = 0; d->there && i < c->nleft; i++)
		if (!strcmp(c->left[i].key, d->key) && !strcmp(c->left[i].version, version))
			return &c->left[i];
	return NULL;
}
