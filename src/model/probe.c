/* Which metadata objects a path has: they are asked for together where each costs a round trip. */
#include "model/names.h"
#include "model/probe.h"

#include "base/err.h"
#include "base/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
probe_need(struct probe *o, unsigned kinds)
{
	o->f.want = kinds & ~o->asked;
	if (o->f.want)
		fetch(o->l, &o->f);
	o->asked |= kinds;
}

bool
probe_has(const struct probe *o, unsigned kinds)
{
	for (unsigned k = 0; k < META_KINDS; k++)
		if ((kinds & o->asked) >> k & 1 &&
			(o->f.result[k] == 0 || o->f.result[k] == ZMAP_SAME))
			return true;
	return false;
}

/* Does what is there tell what the path is without object k? Buckets that may not be listed refuse
 * what is absent. */
static bool
optional(const struct probe *o, unsigned k)
{
	bool remote = o->l->model->zmap->caps & ZMAP_REMOTE;
	return k != META_ARRAY || (remote && probe_has(o, G | ALL | NC_GROUP));
}

bool
probe_left_out(int r)
{
	return r == -EACCES || r == -EFBIG;
}

int
probe_failure(const struct probe *o, bool found)
{
	for (unsigned k = 0; k < META_KINDS; k++) {
		int r = o->asked >> k & 1 ? o->f.result[k] : 0;
		if (r < 0 && !(found && probe_left_out(r) && optional(o, k)))
			return r;
	}
	return 0;
}

enum {
	LISTED_MAX = 1000, /* a page of S3's */
	TOO_MANY = 100,    /* no outcome of a store */
};

struct found {
	struct zmap *zmap;
	unsigned kinds, names;
	bool sign;    /* of a store of another kind */
	char **below; /* names that keys lie below; NULL: no memory for them */
	size_t nbelow;
};

static void
found_done(struct found *f)
{
	LIST_FREE(f->below, f->nbelow);
	f->below = NULL;
	f->nbelow = 0;
}

static int
note_name(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct found *f = arg;
	if (!prefix)
		f->kinds |= 1u << meta_kind_of(name);
	else if (f->below && !meta_is_name(name)) {
		if ((f->below[f->nbelow] = strdup(name)))
			f->nbelow++;
		else
			found_done(f);
	}
	f->sign |= zmap_enter_sign(f->zmap, name);
	return ++f->names >= LISTED_MAX ? TOO_MANY : 0;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What was listed, all of it, are the names in the group that the path may turn out to be. */
static void
keep_names(struct discovery *l, struct found *f, int64_t begun)
{
	discovery_drop_names(l);
	if (!f->below)
		return;
	qsort(f->below, f->nbelow, sizeof *f->below, by_text);
	for (size_t i = 0; i < f->nbelow; i++)
		if (l->nnames && !strcmp(f->below[i], f->below[l->nnames - 1]))
			free(f->below[i]);
		else
			f->below[l->nnames++] = f->below[i];
	f->nbelow = 0;
	l->names = MOVE(f->below);
	l->names_begun = begun;
}

int
probe_names(struct probe *o)
{
	struct discovery *l = o->l;
	char prefix[PATH_BYTES_MAX + 2];
	CLEAN(found_done) struct found f = {.zmap = l->model->zmap};
	const int64_t begun = clock_now();
	const unsigned need_both = ZMAP_REMOTE | ZMAP_LIST;
	if ((o->in_zarr && !o->unlikely) || (o->v3 && !*l->path) || o->listed || l->seen ||
		probe_has(o, V3) || (l->model->zmap->caps & need_both) != need_both)
		return 0;
	f.below = calloc(LISTED_MAX, sizeof *f.below);
	snprintf(prefix, sizeof prefix, "%s%s", l->path, *l->path ? "/" : "");
	int r = zmap_list(l->model->zmap, prefix, note_name, &f);
	/* Also where no name can be shown of what is there: the marker of a folder, "a//b". */
	o->below = f.names || (r == 0 && *l->path);
	o->listed = r >= 0;
	o->entered |= r >= 0 && !f.sign;
	if (r < 0 || r == TOO_MANY)
		return r == -EACCES || r == TOO_MANY ? 0 : r;
	keep_names(l, &f, begun);
	for (unsigned k = 0; k < META_KINDS; k++)
		if (!(f.kinds >> k & 1) && !(o->asked >> k & 1)) {
			o->asked |= 1u << k;
			o->f.result[k] = ZMAP_ABSENT;
		}
	return 0;
}

/* Most names below a group are arrays', so what has no array's object may be nothing at all: of a
 * local store one look at the path tells that sooner than one at each object that could be
 * there. */
static void
probe_below(struct probe *o)
{
	unsigned caps = o->l->model->zmap->caps;
	bool likely = !o->in_zarr || o->listed || o->l->seen || caps & ZMAP_REMOTE;
	if (likely || !(caps & ZMAP_LIST) || o->f.result[META_ARRAY] != ZMAP_ABSENT)
		return;
	int r = fetch_below(o->l);
	if (r < 0)
		return; /* its objects tell why */
	o->listed = true;
	o->below = r;
	for (unsigned k = 0; k < META_KINDS && !r; k++)
		if (!(o->asked >> k & 1)) {
			o->asked |= 1u << k;
			o->f.result[k] = ZMAP_ABSENT;
		}
}

static bool
is_remote(const struct probe *o)
{
	return o->l->model->zmap->caps & ZMAP_REMOTE;
}

/* What nothing is known of may not be there, and the store cannot list: then one round trip is to
 * tell. */
static bool
is_blind(const struct probe *o)
{
	return is_remote(o) && o->in_zarr && !(o->l->model->zmap->caps & ZMAP_LIST);
}

static bool
wants_consolidated(const struct probe *o)
{
	return o->l->model->opt.consolidated != CONSOLIDATED_IGNORE && !o->l->covered;
}

/* The objects of a V2 group that are worth asking for. */
static unsigned
group_kinds(const struct probe *o)
{
	unsigned group = G | T;
	if (wants_consolidated(o) && !is_blind(o))
		group |= ALL;
	if (o->v1 || (!is_remote(o) && !o->in_zarr && !o->pure))
		group |= NC_GROUP;
	return group;
}

/* V3 may begin here: what is below the top of a hierarchy is of the version of the top. */
static bool
is_top(const struct probe *o)
{
	return !o->in_zarr && !o->v2;
}

/* What is asked for first. Below a group most are arrays, which need no more than their own two. */
static unsigned
first_kinds(const struct probe *o, unsigned group)
{
	if (!is_remote(o))
		return A;
	if (!o->in_zarr || o->unlikely)
		return A | group | (is_top(o) ? V3 : 0);
	return is_blind(o) && !seen_any(o->l->seen, A) ? A | T | G : A | T;
}

/* An array is there: what else it may have. */
static void
probe_array(struct probe *o)
{
	bool v1 = o->v1 || (!*o->l->path && !o->pure);
	probe_need(o, T | (v1 ? NC_ARRAY | NC_ATTRS : 0));
}

/* Is it worth asking for the other version in a hierarchy? Where each request costs a round trip,
 * if a listing has the name. */
static bool
may_be_other(const struct probe *o)
{
	if (!is_remote(o) || o->listed)
		return !is_remote(o) || o->below;
	return !is_blind(o) && names_lack(o->l, true) == LACK_NOT;
}

/* No array is there. The kinds of a group; V3; 0: nothing. */
static unsigned
probe_group(struct probe *o, unsigned group)
{
	if (probe_has(o, G) && wants_consolidated(o))
		group |= ALL;
	probe_need(o, group);
	if (probe_has(o, G) && !o->in_zarr && !o->pure) { /* always beside V2's */
		group |= NC_GROUP;
		probe_need(o, group);
	}
	if (probe_has(o, NC_GROUP))
		probe_need(o, NC_ATTRS);
	if (probe_has(o, group))
		return group;
	if (!o->v2 && (!o->in_zarr || may_be_other(o)))
		probe_need(o, V3);
	return probe_has(o, V3) ? V3 : 0;
}

/* Can what has no object of V3 be of V2 in a hierarchy of V3? */
static bool
may_be_v2(const struct probe *o)
{
	if (o->f.result[META_V3] != ZMAP_ABSENT || o->l->model->opt.mode & URL_V3 || !o->in_zarr)
		return false;
	return !o->listed && may_be_other(o);
}

/* V3 goes before V2 beside it at the top of a hierarchy, and in one of V3. */
unsigned
probe_what(struct probe *o)
{
	const unsigned group = group_kinds(o);
	if (o->v3 || (is_top(o) && (!is_remote(o) || seen_any(o->l->seen, V3))))
		probe_need(o, V3);
	if ((o->v3 || is_top(o)) && probe_has(o, V3))
		return V3;
	if (o->v3 && !may_be_v2(o))
		return 0;
	probe_need(o, first_kinds(o, group));
	probe_below(o);
	if (is_top(o) && probe_has(o, V3))
		return V3;
	if (!probe_has(o, A))
		return probe_group(o, group);
	probe_array(o);
	return A;
}

bool
probe_consolidated_first(const struct probe *o)
{
	const struct discovery *l = o->l;
	return is_remote(o) && !*l->path && !o->v3 &&
	       l->model->opt.consolidated != CONSOLIDATED_IGNORE &&
	       (!l->seen || l->seen[META_ALL].present);
}

bool
probe_unchanged(const struct probe *o)
{
	const struct discovery *l = o->l;
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
probe_get_the_same(struct probe *o)
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
probe_keep_seen(const struct probe *o, struct seen **ret)
{
	struct seen *seen = calloc(META_KINDS, sizeof *seen);
	for (unsigned k = 0; seen && k < META_KINDS; k++) {
		if (!probe_has(o, 1u << k))
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
