/* Nodes that go: first what names them, then their own documents, then their chunks. */
#include "base/err.h"
#include "base/list.h"
#include "base/path.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
check_entry(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	return !prefix && meta_is_name(name) ? 0 : err_set(-ENOTEMPTY, "'%s' is in it", name);
}

/* Nothing but a group's own documents, not even what belongs to no node. */
static int
check_empty(struct commit *c, const char *path)
{
	CLEAN(clean_free) char *prefix = NULL;
	if (asprintf(&prefix, "%s/", path) < 0)
		return err_set(-ENOMEM, "no memory for a prefix");
	int r = zmap_list(c->model->zmap, prefix, check_entry, NULL);
	return r < 0 ? err_add(r, "'%s'", path) : 0;
}

void
commit_drop_doc(struct commit *c, struct edit_doc *d)
{
	commit_touch(c, d);
	d->want = false;
}

static int
drop_node(struct commit *c, void *arg)
{
	const char *path = arg;
	CLEAN(clean_free) char *group = path_above(path);
	struct edit_part *p, *parent;
	if (!group)
		return err_set(-ENOMEM, "no memory for a path");
	int r = commit_part(c, path, &p);
	if (r == ZMAP_ABSENT)
		return c->stored ? 0 : err_set(-ENOENT, "there is no '%s'", path);
	if (r == 0 && !p->array)
		r = check_empty(c, path);
	if (r == 0 && p->walk.in_zarr)
		r = commit_part(c, group, &parent);
	if (r == 0 && p->walk.in_zarr && !p->v3)
		r = part_drop_name(c, parent, p->array, path_name(path));
	if (r < 0)
		return r;
	commit_drop_doc(c, p->main);
	if (p->attrs != p->main)
		commit_drop_doc(c, p->attrs);
	return 0;
}

/* Keys below a prefix. */
void
keys_free(struct edit_keys *k)
{
	LIST_FREE(k->of, k->count);
	free(k->prefix);
}

int
keys_keep(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct edit_keys *k = arg;
	int r = LIST_MORE(k->prefix, k->count, "names");
	if (r == 0) {
		k->prefix[k->count] = prefix;
		r = LIST_TAKE(k->of, k->count, "names", strdup(name));
	}
	return r;
}

static int
drop_key(struct commit *c, const char *key)
{
	const struct zmap_del d = {.key = key, .cancel = c->cancel};
	int r = zmap_patience(c->deadline, c->cancel);
	if (r == 0)
		r = zmap_del(c->model->zmap, &d);
	return r < 0 ? err_add(r, "cannot delete '%s'", key) : 0;
}

/* All that lies below a prefix, which ends with '/'. */
static int
drop_below(struct commit *c, const char *prefix, unsigned depth)
{
	CLEAN(keys_free) struct edit_keys k = {0};
	int r = zmap_list(c->model->zmap, prefix, keys_keep, &k);
	for (size_t i = 0; r >= 0 && i < k.count; i++) {
		CLEAN(clean_free) char *key = NULL;
		if (asprintf(&key, "%s%s%s", prefix, k.of[i], k.prefix[i] ? "/" : "") < 0)
			return err_set(-ENOMEM, "no memory for a key");
		r = !k.prefix[i]        ? drop_key(c, key)
		    : depth < DEPTH_MAX ? drop_below(c, key, depth + 1)
					: 0;
	}
	return r < 0 ? r : 0;
}

int
commit_empty(struct commit *c, const char *path)
{
	CLEAN(clean_free) char *prefix = NULL;
	struct err err = {0};
	if (asprintf(&prefix, "%s/", path) < 0)
		return err_set(-ENOMEM, "no memory for a prefix");
	int r = c->model->zmap->caps & ZMAP_LIST ? drop_below(c, prefix, 0) : 0;
	if (r < 0)
		err_save(err_add(r, "'%s' is removed, but not all of its chunks", path), &err);
	c->emptying = false;
	commit_renew(c);
	return r < 0 ? err_restore(&err) : 0;
}

int
model_remove(struct model *m, const char *path, int64_t deadline, struct cancel *cancel)
{
	CLEAN(commit_done)
	struct commit c = {.model = m, .deadline = deadline, .cancel = cancel, .emptying = true};
	if (!*path)
		return err_set(-EBUSY, "the root of the store stays");
	int r = commit_run(&c, drop_node, (void *)path);
	if (r < 0)
		return r;
	c.deadline = deadline; /* as long as it takes, if the caller set none */
	return commit_empty(&c, path);
}
