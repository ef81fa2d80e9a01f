/* Consolidated metadata brought up to date: what a commit stored is read once more after they were,
 * and they are stored on condition. So of several writers the last one has put in what all of them
 * left. */
#include "base/err.h"
#include "base/json_edit.h"
#include "base/list.h"
#include "base/path.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <string.h>

/* Consolidated metadata of one group. */
struct whole {
	struct commit *commit;
	const char *group;
	size_t skip; /* bytes of a path below the group before what it is called there */
	bool v3;
	struct edit_doc *doc;
};

static void
whole_done(struct whole *w)
{
	if (!w->doc)
		return;
	free(w->doc->key);
	buf_free(&w->doc->text);
	buf_free(&w->doc->was);
	free(w->doc);
}

/* Where it has the document of that name. */
struct edit_entry {
	const char *path[4];
};

static struct edit_entry
entry_of(const struct whole *w, const char *name)
{
	return w->v3 ? (struct edit_entry){{"consolidated_metadata", "metadata", name}}
		     : (struct edit_entry){{"metadata", name}};
}

static struct span
now_there(const struct whole *w, const struct edit_entry *e)
{
	struct span found = {0};
	return json_edit_find(buf_span(&w->doc->text), e->path, &found) == 0 ? found
									     : (struct span){0};
}

/* Not a set of references that is called alike (kerchunk's). */
static bool
is_consolidated(const struct whole *w)
{
	static const char *const record[] = {"record_size", NULL};
	const struct edit_entry all = entry_of(w, NULL);
	struct span found;
	const struct span dict = now_there(w, &all);
	return dict.len && *dict.data == '{' &&
	       json_edit_find(buf_span(&w->doc->text), record, &found) == -ENOENT;
}

/* A group's zarr.json as an entry: what the entry has of consolidated metadata stays the
 * entry's. */
static int
keep_inline(const struct whole *w, const struct edit_entry *e, struct buf *text)
{
	static const char *const own[] = {"consolidated_metadata", NULL};
	struct span found;
	const struct span old = now_there(w, e);
	int r = json_edit_del(text, own);
	if (r < 0 || !old.len || json_edit_find(old, own, &found) < 0)
		return r;
	return json_edit_set(text, own, found);
}

/* The document as it is now goes in. */
static int
take_doc(struct whole *w, const struct edit_part *p, struct edit_doc *d)
{
	static const char *const whole[] = {NULL};
	CLEAN(buf_free) struct buf text = {0};
	const struct edit_entry e = entry_of(w, w->v3 ? p->path + w->skip : d->key + w->skip);
	struct span value;
	int r = 0;
	if (!d->there)
		return json_edit_del(&w->doc->text, e.path);
	r = d->text.len ? buf_add(&text, d->text.data, d->text.len) : 0;
	if (r == 0 && w->v3 && !p->array)
		r = keep_inline(w, &e, &text);
	if (r == 0 && d->ascii)
		r = json_to_ascii(&text);
	if (r == 0)
		r = json_edit_find(buf_span(&text), whole, &value);
	const struct span old = now_there(w, &e);
	if (r < 0 || (old.len == value.len && !memcmp(old.data, value.data, value.len)))
		return r;
	return d->ascii ? json_edit_set_ascii(&w->doc->text, e.path, value)
			: json_edit_set(&w->doc->text, e.path, value);
}

static bool
is_below(const struct whole *w, const struct edit_part *p)
{
	size_t len = strlen(w->group);
	if (p->v3 != w->v3) /* consolidated metadata are of one version */
		return false;
	if (!strcmp(p->path, w->group))
		return !w->v3;
	return !len || (!strncmp(p->path, w->group, len) && p->path[len] == '/');
}

/* As the documents of all that changed are now. */
static int
read_again(struct whole *w)
{
	const struct commit *c = w->commit;
	CLEAN(clean_free) struct edit_doc **doc = calloc(2 * c->parts + 1, sizeof *doc);
	size_t n = 0;
	if (!doc)
		return err_set(-ENOMEM, "no memory for documents");
	for (size_t i = 0; i < c->parts; i++) {
		const struct edit_part *p = c->part[i];
		if (!is_below(w, p) || (!p->main->turn && !p->attrs->turn))
			continue;
		doc[n++] = p->main;
		if (p->attrs != p->main)
			doc[n++] = p->attrs;
	}
	return docs_read(w->commit, doc, n);
}

static int
take_parts(struct whole *w)
{
	int r = read_again(w);
	for (size_t i = 0; r == 0 && i < w->commit->parts; i++) {
		const struct edit_part *p = w->commit->part[i];
		if (!is_below(w, p) || (!p->main->turn && !p->attrs->turn))
			continue;
		r = take_doc(w, p, p->main); /* all of a node, or it would be half a one */
		if (r == 0 && p->attrs != p->main)
			r = take_doc(w, p, p->attrs);
	}
	return r;
}

static int
note_stored(struct commit *c, const char *group)
{
	return LIST_TAKE(c->consolidated, c->nconsolidated, "a path", strdup(group));
}

/* Once. 0, ZMAP_CHANGED, -errno. */
static int
try_store(struct whole *w)
{
	struct edit_doc *d = w->doc;
	int r = doc_read(w->commit, d);
	if (r < 0 || !d->there || !is_consolidated(w))
		return r;
	r = take_parts(w);
	if (r < 0 || (d->text.len == d->was.len && !memcmp(d->text.data, d->was.data, d->was.len)))
		return r;
	r = doc_put(w->commit, d);
	return r == 0 ? note_stored(w->commit, w->group) : r;
}

/* What was changed of it so far does not count. */
static void
start_again(struct edit_doc *d)
{
	buf_free(&d->text);
	buf_free(&d->was);
	d->there = false;
	*d->version = 0;
}

static int
consolidate(struct commit *c, const char *group, bool v3)
{
	const char *name = meta_name[dialect_of(v3)->all][0];
	CLEAN(whole_done)
	struct whole w = {
		.commit = c, .group = group, .skip = strlen(group) + (*group != 0), .v3 = v3};
	w.doc = calloc(1, sizeof *w.doc);
	if (!w.doc || !(w.doc->key = path_in(group, name)))
		return err_set(-ENOMEM, "no memory for consolidated metadata");
	unsigned n = 0;
	int r;
	while ((r = try_store(&w)) == ZMAP_CHANGED) {
		r = commit_wait(c, n++);
		if (r < 0)
			return r;
		start_again(w.doc);
	}
	return r;
}

/* The groups that may have any: those above a part, and a group itself. */
struct group_list {
	const char **path;
	bool *v3;
	size_t count;
};

static void
group_list_done(struct group_list *l)
{
	free(l->path);
	free(l->v3);
}

static void
add_group(struct group_list *l, const char *path, bool v3)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->path[i], path))
			return;
	l->path[l->count] = path;
	l->v3[l->count++] = v3;
}

static size_t
depth_of(const struct edit_part *p)
{
	return p->walk.in_zarr ? p->walk.depth - p->walk.top : 0;
}

static int
list_groups(const struct commit *c, struct group_list *l)
{
	size_t most = 1;
	for (size_t i = 0; i < c->parts; i++)
		most += depth_of(c->part[i]) + 1;
	l->path = calloc(most, sizeof *l->path);
	l->v3 = calloc(most, sizeof *l->v3);
	if (!l->path || !l->v3)
		return err_set(-ENOMEM, "no memory for groups");
	for (size_t i = 0; i < c->parts; i++) {
		const struct edit_part *p = c->part[i];
		if (!p->array && !p->v3 && p->before)
			add_group(l, p->path, p->v3);
		for (size_t k = 0; k < depth_of(p); k++)
			add_group(l, p->walk.up[p->walk.top + k]->path, p->v3);
	}
	return 0;
}

/* The longest path that was not done yet, so that groups below come first. NULL: none is left. */
static const char *
take_deepest(struct group_list *l, bool *v3)
{
	size_t best = l->count;
	for (size_t i = 0; i < l->count; i++)
		if (l->path[i] && (best == l->count || strlen(l->path[i]) > strlen(l->path[best])))
			best = i;
	if (best == l->count)
		return NULL;
	const char *path = l->path[best];
	*v3 = l->v3[best];
	l->path[best] = NULL;
	return path;
}

int
commit_consolidate(struct commit *c)
{
	CLEAN(group_list_done) struct group_list l = {0};
	const char *group;
	bool v3 = false;
	int r = list_groups(c, &l);
	while (r == 0 && (group = take_deepest(&l, &v3))) {
		r = consolidate(c, group, v3);
		if (r < 0)
			r = err_add(r, "cannot bring consolidated metadata of '%s' up to date",
				*group ? group : "/");
	}
	return r;
}
