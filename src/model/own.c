/* Which metadata objects a path has: they are asked for together where each costs a round trip. */
#include "model/own.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
own_need(struct own *o, unsigned kinds)
{
	o->f.want = kinds & ~o->asked;
	if (o->f.want)
		fetch(o->l, &o->f);
	o->asked |= kinds;
}

bool
own_has(const struct own *o, unsigned kinds)
{
	for (unsigned k = 0; k < META_KINDS; k++)
		if ((kinds & o->asked) >> k & 1 &&
			(o->f.result[k] == 0 || o->f.result[k] == ZMAP_SAME))
			return true;
	return false;
}

/* Does what is there tell what the path is without object k? Buckets that nobody may list refuse what is absent. */
static bool
optional(const struct own *o, unsigned k)
{
	bool remote = o->l->model->zmap->caps & ZMAP_REMOTE;
	return k != META_ARRAY || (remote && own_has(o, G | ALL | NC_GROUP));
}

bool
own_left_out(int r)
{
	return r == -EACCES || r == -EFBIG;
}

int
own_failure(const struct own *o, bool found)
{
	for (unsigned k = 0; k < META_KINDS; k++) {
		int r = o->asked >> k & 1 ? o->f.result[k] : 0;
		if (r < 0 && !(found && own_left_out(r) && optional(o, k)))
			return r;
	}
	return 0;
}

bool
look_covered(const struct look *l)
{
	return l->walk->con && catalog_has(l->walk->con, l->path + l->walk->con_skip);
}

enum {
	LISTED_MAX = 1000, /* a page of S3's */
	TOO_MANY = 100,    /* no outcome of a store */
};

struct found {
	unsigned kinds, names;
};

static int
note_name(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct found *f = arg;
	for (unsigned k = 0; k < META_KINDS && !prefix; k++)
		for (unsigned i = 0; i < 2 && meta_name[k][i]; i++)
			if (!strcmp(name, meta_name[k][i]))
				f->kinds |= 1u << k;
	return ++f->names >= LISTED_MAX ? TOO_MANY : 0;
}

int
own_names(struct own *o)
{
	const struct look *l = o->l;
	char prefix[PATH_BYTES_MAX + 2];
	struct found f = {0};
	const unsigned need_both = ZMAP_REMOTE | ZMAP_LIST;
	if (o->in_zarr || l->seen || (l->model->zmap->caps & need_both) != need_both)
		return 0;
	snprintf(prefix, sizeof prefix, "%s%s", l->path, *l->path ? "/" : "");
	int r = zmap_list(l->model->zmap, prefix, note_name, &f);
	/* Also where no name can be shown of what is there: the marker of a folder, "a//b". */
	o->below = f.names || (r == 0 && *l->path);
	o->listed = r >= 0;
	if (r < 0 || r == TOO_MANY)
		return r == -EACCES || r == TOO_MANY ? 0 : r;
	for (unsigned k = 0; k < META_KINDS; k++)
		if (!(f.kinds >> k & 1) && !(o->asked >> k & 1)) {
			o->asked |= 1u << k;
			o->f.result[k] = ZMAP_ABSENT;
		}
	return 0;
}

unsigned
own_what(struct own *o)
{
	bool remote = o->l->model->zmap->caps & ZMAP_REMOTE;
	bool consolidated =
		o->l->model->opt.consolidated != CONSOLIDATED_IGNORE && !look_covered(o->l);
	unsigned group = G | T | (consolidated ? ALL : 0);
	if (o->v1 || (!remote && !o->in_zarr && !o->pure))
		group |= NC_GROUP;
	/* Below a group most are arrays, which need no more than their own two. */
	own_need(o, !remote ? A : o->in_zarr ? A | T : A | group | V3);
	if (own_has(o, A)) {
		bool v1 = o->v1 || (!*o->l->path && !o->pure);
		own_need(o, T | (v1 ? NC_ARRAY | NC_ATTRS : 0));
		return A;
	}
	own_need(o, group);
	if (own_has(o, G) && !o->in_zarr && !o->pure) { /* always beside a .zgroup */
		group |= NC_GROUP;
		own_need(o, group);
	}
	if (own_has(o, NC_GROUP))
		own_need(o, NC_ATTRS);
	if (!own_has(o, group) && (!o->in_zarr || !remote))
		own_need(o, V3);
	return own_has(o, group) ? group : own_has(o, V3) ? V3 : 0;
}

bool
own_unchanged(const struct own *o)
{
	const struct look *l = o->l;
	if (!l->old || !l->seen)
		return false;
	for (unsigned k = 0; k < META_KINDS; k++) {
		bool asked = o->asked >> k & 1;
		if (!asked && l->seen[k].present)
			return false;
		if (asked && o->f.result[k] != (l->seen[k].present ? ZMAP_SAME : ZMAP_ABSENT))
			return false;
	}
	return true;
}

void
own_get_the_same(struct own *o)
{
	o->f.if_changed = NULL;
	o->f.want = 0;
	for (unsigned k = 0; k < META_KINDS; k++)
		if (k != META_ALL && o->asked >> k & 1 && o->f.result[k] == ZMAP_SAME)
			o->f.want |= 1u << k;
	if (o->f.want)
		fetch(o->l, &o->f);
}

int
own_keep_seen(const struct own *o, struct seen **ret)
{
	struct seen *seen = calloc(META_KINDS, sizeof *seen);
	for (unsigned k = 0; seen && k < META_KINDS; k++) {
		if (!own_has(o, 1u << k))
			continue;
		seen[k].present = true;
		const char *version = o->f.metas.of[k].version;
		if (*version && !(seen[k].version = strdup(version))) {
			seen_free(seen);
			seen = NULL;
		}
	}
	if (!seen)
		return err_set(-ENOMEM, "no memory for versions");
	*ret = seen;
	return 0;
}

void
seen_free(struct seen *s)
{
	for (unsigned k = 0; s && k < META_KINDS; k++)
		free(s[k].version);
	free(s);
}
