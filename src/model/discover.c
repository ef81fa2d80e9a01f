/* One look at one path: what is there, in the store's own objects or in consolidated metadata. */
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "model/names.h"
#include "model/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Consolidated metadata of this group; what is none is as good as none. */
static int
open_consolidated(struct probe *o, const struct dialect *d)
{
	const enum meta_kind kind = d->all;
	struct discovery *l = o->l;
	if (!probe_has(o, 1u << kind) || l->con ||
		l->model->opt.consolidated == CONSOLIDATED_IGNORE)
		return 0;
	if (o->f.metas.of[kind].chunks) /* the store has all at hand, and knows more of it */
		return 0;
	if (o->f.result[kind] == ZMAP_SAME && !o->f.metas.of[kind].data) {
		l->con = consolidated_ref(l->old_con);
		return 0;
	}
	uint64_t id = 0;
	LOCKED(&l->model->lock)
		id = ++l->model->last_con;
	int r = consolidated_open(&o->f.metas.of[kind], d, id, &l->con);
	if (r < 0 && r != -ENOMEM)
		log_debug("'%s/%s' is not used as consolidated metadata: %s", l->path,
			meta_name[kind][0], err_text());
	return r == -ENOMEM ? r : 0;
}

/* Consolidated metadata that were asked for alone: are they all that is needed? */
static int
by_consolidated(struct probe *o, bool *ret)
{
	CLEAN(metas_done) struct metas m = {0};
	probe_need(o, ALL);
	int r = o->f.result[META_ALL];
	r = r < 0 && !probe_left_out(r) ? r : open_consolidated(o, &dialect_v2);
	if (r == 0 && o->l->con)
		*ret = consolidated_node(o->l->con, "", &m) && m.of[dialect_v2.group].data;
	return r;
}

static int
make_group(struct probe *o)
{
	struct discovery *l = o->l;
	const struct dim_scope s = path_walk_scope(l->walk, l->model);
	int r = open_consolidated(o, &dialect_v2);
	if (r < 0)
		return r;
	bool only_consolidated = !probe_has(o, G | T | NC_GROUP);
	if (only_consolidated && !l->con && probe_has(o, ALL))
		return ZMAP_ABSENT; /* kerchunk's, say */
	if (only_consolidated && l->con)
		consolidated_node(l->con, "", &o->f.metas);
	return meta_v2_group(l->path, &o->f.metas, &s, &l->node);
}

/* Does a path without metadata of its own have anything below it? 1, 0 or -errno. A bucket that may
 * not be listed refuses what is not there: beside consolidated metadata, which say what is, that
 * means absence. */
static int
anything_below(const struct probe *o)
{
	struct discovery *l = o->l;
	bool remote = l->model->zmap->caps & ZMAP_REMOTE;
	int r = probe_failure(o, false);
	if (r == 0 && o->listed)
		r = o->below;
	else if (r == 0) {
		r = o->in_zarr ? names_lack(l, true) : LACK_UNKNOWN;
		r = r == LACK_UNKNOWN ? fetch_below(l) : r < 0 ? r : r == LACK_NOT;
	}
	return r == -EACCES && l->walk->con && remote ? 0 : r;
}

static int
make_object(struct discovery *l, const struct zmap_stat *st)
{
	int r = node_new(NODE_OBJECT, l->path, &l->node);
	if (r == 0) {
		l->node->size = st->size;
		l->node->mtime = st->mtime;
		memcpy(l->node->version, st->version, sizeof st->version);
	}
	return r;
}

static int
stat_object(struct discovery *l)
{
	struct zmap_stat st = {0};
	int r = zmap_stat(l->model->zmap, l->path, &st);
	return r ? r : make_object(l, &st);
}

/* What a listing said of it is as good as an answer of that time, unless more is known since. */
static int
object_listed(struct discovery *l, const struct zmap_stat *st, int64_t begun)
{
	if (!begun || begun <= l->before || l->how >= HOW_NOW)
		return stat_object(l);
	l->wall -= l->begun - begun;
	l->begun = begun;
	return make_object(l, st);
}

/* A path without metadata of its own. */
static int
make_plain(struct probe *o)
{
	struct discovery *l = o->l;
	const struct dim_scope s = path_walk_scope(l->walk, l->model);
	const struct metas none = {0};
	if (l->covered) /* consolidated metadata know better than what chunks suggest */
		return probe_failure(o, false) < 0 ? probe_failure(o, false) : ZMAP_ABSENT;
	int r = anything_below(o);
	if (r < 0)
		return r;
	if (r > 0 && o->in_zarr)
		return dialect_node(l->path, &none, &s, &l->node);
	if (r > 0)
		return node_new(NODE_PLAIN, l->path, &l->node);
	return o->in_zarr || !*l->path ? ZMAP_ABSENT : stat_object(l);
}

static void
prefer_old(struct discovery *l)
{
	if (!l->node || l->node == l->old || !l->old || !node_same(l->old, l->node))
		return;
	node_unref(l->node);
	l->node = node_ref(l->old);
}

static int
make(struct probe *o, unsigned what)
{
	struct discovery *l = o->l;
	const struct dim_scope s = path_walk_scope(l->walk, l->model);
	probe_get_the_same(o);
	int r = what ? probe_failure(o, true) : 0;
	if (r < 0)
		return r;
	if (what == V3 || what == A) {
		r = dialect_node(l->path, &o->f.metas, &s, &l->node);
		if (r < 0)
			return r;
		return l->node->kind == NODE_GROUP ? open_consolidated(o, &dialect_v3)
						   : discover_separator(l, l->node);
	}
	r = what ? make_group(o) : ZMAP_ABSENT;
	return r == ZMAP_ABSENT ? make_plain(o) : r;
}

static void
probe_done(struct probe *o)
{
	metas_done(&o->f.metas);
}

static bool
same_form(const struct array_meta *a, const struct array_meta *b)
{
	return a->layout == b->layout && a->rank == b->rank &&
	       (!a->rank || !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape));
}

/* The own object of an array that consolidated metadata know, on a remote store: one request,
 * beside which theirs are good enough while the layout is the same. Else, and where they know no
 * such array, nothing is settled. */
static int
look_beside_consolidated(struct probe *o)
{
	struct discovery *l = o->l;
	const struct dim_scope s = path_walk_scope(l->walk, l->model);
	CLEAN(metas_done) struct metas theirs = {0};
	CLEAN(node_unrefp) struct node *before = NULL;
	const enum meta_kind kind = dialect_of(o->v3)->array;
	if (!(l->model->zmap->caps & ZMAP_REMOTE) || !l->covered ||
		!consolidated_node(l->walk->con, l->path + l->walk->con_skip, &theirs) ||
		!theirs.of[kind].data)
		return 0;
	o->f.if_changed = NULL; /* its bytes are needed, and are few */
	probe_need(o, 1u << kind);
	int r = o->f.result[kind];
	if (r != 0)
		return r < 0 && !probe_left_out(r) ? r : 0;
	struct metas mixed = theirs; /* borrowed */
	mixed.of[kind] = o->f.metas.of[kind];
	r = dialect_node(l->path, &theirs, &s, &before);
	if (r == 0)
		r = dialect_node(l->path, &mixed, &s, &l->node);
	if (r == 0)
		r = discover_separator(l, l->node);
	if (r == 0 && before->array && l->node->array && !l->node->error &&
		same_form(before->array, l->node->array))
		return probe_keep_seen(o, &l->new_seen);
	l->node = node_unref(l->node);
	return r;
}

/* One time for both: consolidated metadata are written last, and opening a file moves no mtime. */
static void
settle(struct discovery *l)
{
	if (l->covered && l->node->mtime < consolidated_mtime(l->walk->con))
		l->node->mtime = consolidated_mtime(l->walk->con);
	prefer_old(l);
}

/* ZMAP_ABSENT: no listing called it an object, or it is none any more. */
static int
look_listed(struct probe *o)
{
	struct discovery *l = o->l;
	struct zmap_stat said;
	int64_t begun;
	if (o->in_zarr || !node_cache_is_key(l->model, l->path, &said, &begun))
		return ZMAP_ABSENT;
	int r = object_listed(l, &said, begun);
	if (r == 0)
		r = probe_keep_seen(o, &l->new_seen);
	if (r == 0)
		prefer_old(l);
	return r;
}

/* It is known that there are no consolidated metadata. A refusal means as much as absence does. */
static bool
bare(const struct probe *o)
{
	const int r = o->f.result[META_ALL];
	return o->asked & ALL && (r == ZMAP_ABSENT || r == -EACCES);
}

/* Is a path of which nothing else is known a store of another kind? */
static int
enter(struct probe *o)
{
	if (o->in_zarr || o->entered || o->l->covered)
		return 0;
	o->entered = true;
	int r = zmap_enter(o->l->model->zmap, o->l->path, bare(o));
	return r == -EACCES && o->l->model->zmap->caps & ZMAP_REMOTE ? 0 : r;
}

/* A root that has no consolidated metadata may be another store, or have what says everything in
 * V3: both are asked for together. Whatever enter found goes first. */
static int
enter_beside_v3(struct probe *o)
{
	o->f.want = !o->v2 && bare(o) ? V3 : 0;
	struct fetching *v3 = o->f.want ? fetch_begin(o->l, &o->f) : NULL;
	int r = enter(o);
	if (r != 0 || !o->f.want) {
		fetch_drop(v3);
		return r;
	}
	fetch_end(o->l, &o->f, v3);
	o->asked |= V3;
	r = o->f.result[META_V3];
	return r < 0 && !probe_left_out(r) ? r : 0;
}

/* What was asked for before another store was entered does not count. */
static void
start_again(struct probe *o)
{
	struct discovery *l = o->l;
	probe_done(o);
	l->node = node_unref(l->node);
	l->con = consolidated_unref(l->con);
	discovery_drop_names(l);
	*o = (struct probe){.l = l, .entered = true, .pure = o->pure, .v2 = o->v2, .v3 = o->v3};
}

/* By consolidated metadata, alone or with the array's own object beside them; a root that has none
 * may be another store. enough: the consolidated metadata of the root are all that is needed. */
static int
look_first(struct probe *o, bool *enough)
{
	struct discovery *l = o->l;
	const bool first = probe_consolidated_first(o);
	int r = first ? by_consolidated(o, enough) : look_beside_consolidated(o);
	if (r == 0 && l->node)
		settle(l);
	if (r < 0 || l->node || !first || *enough)
		return r;
	/* Of the root a listing is no sooner to tell whether another store is likely. */
	if (l->model->zmap->caps & ZMAP_LIST && l->seen)
		return 0;
	r = enter_beside_v3(o);
	if (r > 0)
		start_again(o);
	return r;
}

static bool
keep_old(struct probe *o)
{
	struct discovery *l = o->l;
	if (!probe_unchanged(o))
		return false;
	l->node = node_ref(l->old);
	if (!l->con)
		l->con = consolidated_ref(l->old_con);
	return true;
}

/* From all of its own objects. */
static int
look_at_all(struct probe *o)
{
	struct discovery *l = o->l;
	bool enough = false;
	int r = look_first(o, &enough);
	if (r >= 0 && !l->node && !enough)
		r = probe_names(o);
	if (r < 0 || l->node)
		return r;
	unsigned what = enough ? ALL : probe_what(o);
	if (what && keep_old(o))
		return 0;
	r = make(o, what);
	bool nothing = (r == ZMAP_ABSENT && !*l->path) || (r == 0 && l->node->kind == NODE_PLAIN);
	int inside = nothing ? enter(o) : 0;
	if (inside > 0) {
		start_again(o);
		return look_at_all(o);
	}
	r = inside < 0 ? inside : r;
	if (r == 0)
		r = probe_keep_seen(o, &l->new_seen);
	if (r == 0)
		settle(l);
	return r;
}

/* A name that consolidated metadata lack is most likely not there: one listing tells, of the names
 * beside it or, if these are many, of what lies below it. ZMAP_ABSENT; 0: it may be there. */
static int
look_beside(struct probe *o)
{
	struct discovery *l = o->l;
	if (!o->in_zarr || l->seen || l->old || l->how >= HOW_NOW || l->covered)
		return 0;
	int r = names_lack(l, l->walk->con);
	o->listed = r == -EACCES; /* it may not be listed */
	o->unlikely = l->walk->con && (o->listed || r == LACK_UNKNOWN);
	return o->listed ? 0 : r < 0 ? r : r == LACK_SURELY ? ZMAP_ABSENT : 0;
}

static int
look_own(struct discovery *l)
{
	const struct group_meta *parent =
		l->walk->in_zarr ? l->walk->up[l->walk->depth - 1]->group : NULL;
	CLEAN(probe_done)
	struct probe o = {.l = l, .in_zarr = l->walk->in_zarr, .v1 = parent && parent->v1};
	const struct dim_scope s = path_walk_scope(l->walk, l->model);
	o.pure = dim_scope_pure(&s);
	o.v3 = o.in_zarr ? parent && parent->v3 : s.mode & URL_V3;
	o.v2 = s.mode & URL_V2;
	l->own = true;
	/* Bytes that made no sense come again in any case: the store may have cut them short. */
	o.f.if_changed = discover_separator_due(l) || (l->old && (l->old->error || l->old->flaw))
				 ? NULL
				 : l->seen;
	int r = look_listed(&o);
	if (r != ZMAP_ABSENT)
		return r;
	r = look_beside(&o);
	if (r != 0)
		return r;
	const enum meta_kind kind = dialect_of(o.v3)->array;
	if (l->how == HOW_NOW && l->old && l->old->array && o.f.if_changed &&
		o.f.if_changed[kind].version) {
		probe_need(&o, 1u << kind); /* all that decides what chunks mean */
		if (o.f.result[kind] == ZMAP_SAME) {
			l->partly = true;
			l->node = node_ref(l->old);
			return 0;
		}
	}
	return look_at_all(&o);
}

static uint64_t
hash_metas(const struct metas *m)
{
	uint64_t h = HASH_START;
	for (unsigned k = 0; k < META_KINDS; k++) {
		if (!m->of[k].data)
			continue;
		h = hash_bytes(h, &k, sizeof k);
		h = hash_block(h, m->of[k].data, m->of[k].len);
	}
	return h;
}

/* What consolidated metadata say of the node, noted with the place, so that it is made again only
 * when that changes. */
static bool
compare_consolidated(struct discovery *l, struct metas *m)
{
	if (!consolidated_node(l->walk->con, l->path + l->walk->con_skip, m))
		return false;
	l->con_hash = hash_metas(m);
	l->con_id = consolidated_id(l->walk->con);
	return true;
}

/* The node as consolidated metadata have it. */
static int
look_consolidated(struct discovery *l)
{
	CLEAN(metas_done) struct metas m = {0};
	const struct dim_scope s = path_walk_scope(l->walk, l->model);
	if (!compare_consolidated(l, &m))
		return ZMAP_ABSENT;
	if (l->old && l->old_con_id && l->old_con_hash == l->con_hash &&
		!discover_separator_due(l)) {
		l->node = node_ref(l->old);
		return 0;
	}
	int r = dialect_node(l->path, &m, &s, &l->node);
	if (r == 0)
		r = discover_separator(l, l->node);
	if (r == 0)
		prefer_old(l);
	return r;
}

/* Do groups and arrays have objects of their own? In a far store these may not be known. */
static bool
beside_objects(const struct discovery *l)
{
	char key[PATH_BYTES_MAX + 32];
	struct zmap_stat st;
	if (l->walk->con_beside_objects || !(l->model->zmap->caps & ZMAP_REMOTE))
		return l->walk->con_beside_objects;
	const struct dim_scope s = path_walk_scope(l->walk, l->model);
	snprintf(key, sizeof key, "%.*s%s", (int)l->walk->con_skip, l->path,
		meta_name[dialect_in(&s)->group][0]);
	return zmap_stat(l->model->zmap, key, &st) == 0;
}

/* Consolidated metadata have the node, which has no objects: is it deleted, or had it none? */
static bool
deleted(const struct discovery *l)
{
	return seen_any(l->seen, A | G | V3) || (beside_objects(l) && fetch_below(l) <= 0);
}

/* Nothing is there where something was, or the root's metadata are gone: is that so, or is it the
 * whole store that went? */
static int
confirm_loss(const struct discovery *l, int r)
{
	bool root = !*l->path && l->old;
	if (r == 0 && root && l->old->kind != NODE_PLAIN && l->node->kind == NODE_PLAIN)
		return err_set(-EIO, "the metadata of the store's root are no longer there");
	if (r != ZMAP_ABSENT || !l->old)
		return r;
	int alive = fetch_alive(l->model);
	if (alive == 0 && root)
		alive = err_set(-EIO, "the store is no longer there");
	return alive < 0 ? alive : r;
}

int
discover(struct discovery *l)
{
	const struct consolidated_index *con = l->walk->con;
	bool trust = l->model->opt.consolidated == CONSOLIDATED_TRUST;
	bool found_gone = con && !l->old && l->old_con_id == consolidated_id(con);
	if (con && (trust || (l->covered && l->how == HOW_LOOKUP && !found_gone))) {
		int alive = l->how >= HOW_NOW ? fetch_alive(l->model) : 0;
		l->own = l->how != HOW_LOOKUP;
		return alive < 0 ? alive : look_consolidated(l);
	}
	int r = look_own(l);
	if (r == ZMAP_ABSENT && l->covered && !deleted(l)) {
		r = fetch_alive(l->model);
		return r < 0 ? r : look_consolidated(l);
	}
	CLEAN(metas_done) struct metas m = {0};
	if (l->covered)
		compare_consolidated(l, &m);
	return confirm_loss(l, r);
}
