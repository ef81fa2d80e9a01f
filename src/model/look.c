/* One look at one path: what is there, in the store's own objects or in consolidated metadata. */
#include "base/err.h"
#include "base/log.h"
#include "model/own.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Consolidated metadata of this group; a .zmetadata that is none is as good as none. */
static int
open_consolidated(struct own *o)
{
	struct look *l = o->l;
	if (!own_has(o, ALL) || l->con)
		return 0;
	if (o->f.result[META_ALL] == ZMAP_SAME) {
		l->con = catalog_ref(l->old_con);
		return 0;
	}
	uint64_t id = 0;
	LOCKED(&l->model->lock)
		id = ++l->model->last_con;
	int r = catalog_open(&o->f.metas.of[META_ALL], id, &l->con);
	if (r < 0 && r != -ENOMEM)
		log_debug("'%s/.zmetadata' is not used: %s", l->path, err_text());
	return r == -ENOMEM ? r : 0;
}

/* The root of a remote store with consolidated metadata costs one request. Where there were none the last time, nothing waits for them. */
static bool
consolidated_first(const struct own *o)
{
	const struct look *l = o->l;
	return l->model->zmap->caps & ZMAP_REMOTE && !*l->path &&
	       l->model->opt.consolidated != CONSOLIDATED_IGNORE &&
	       (!l->seen || l->seen[META_ALL].present);
}

/* Consolidated metadata that were asked for alone: are they all that is needed? */
static int
by_consolidated(struct own *o, bool *ret)
{
	CLEAN(metas_done) struct metas m = {0};
	own_need(o, ALL);
	int r = o->f.result[META_ALL];
	r = r < 0 && !own_left_out(r) ? r : open_consolidated(o);
	if (r == 0 && o->l->con)
		*ret = catalog_node(o->l->con, "", &m) && m.of[META_GROUP].data;
	return r;
}

static int
make_group(struct own *o)
{
	struct look *l = o->l;
	const struct scope s = walk_scope(l->walk, l->model);
	int r = open_consolidated(o);
	if (r < 0)
		return r;
	bool only_consolidated = !own_has(o, G | T | NC_GROUP);
	if (only_consolidated && !l->con && own_has(o, ALL))
		return ZMAP_ABSENT; /* kerchunk's, say */
	if (only_consolidated && l->con)
		catalog_node(l->con, "", &o->f.metas);
	return meta_v2_group(l->path, &o->f.metas, &s, &l->node);
}

/* Does a path without metadata of its own have anything below it? 1, 0 or -errno. A bucket that nobody may list refuses what is not
 * there: beside consolidated metadata, which say what is, that means absence. */
static int
anything_below(const struct own *o)
{
	const struct look *l = o->l;
	bool remote = l->model->zmap->caps & ZMAP_REMOTE;
	int r = own_failure(o, false);
	if (r == 0)
		r = o->listed ? o->below : fetch_below(l);
	return r == -EACCES && l->walk->con && remote ? 0 : r;
}

static int
make_object(struct look *l, const struct zmap_stat *st)
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
stat_object(struct look *l)
{
	struct zmap_stat st = {0};
	int r = zmap_stat(l->model->zmap, l->path, &st);
	return r ? r : make_object(l, &st);
}

/* What a listing said of it is as good as an answer of that time, unless more is known since. */
static int
object_listed(struct look *l, const struct zmap_stat *st, int64_t begun)
{
	if (!begun || begun <= l->before || l->how == HOW_NOW)
		return stat_object(l);
	l->wall -= l->begun - begun;
	l->begun = begun;
	return make_object(l, st);
}

/* A path without metadata of its own. */
static int
make_plain(struct own *o)
{
	struct look *l = o->l;
	const struct scope s = walk_scope(l->walk, l->model);
	if (look_covered(l)) /* consolidated metadata know better than what chunks suggest */
		return own_failure(o, false) < 0 ? own_failure(o, false) : ZMAP_ABSENT;
	int r = anything_below(o);
	if (r < 0)
		return r;
	if (r > 0 && o->in_zarr)
		return meta_v2_group(l->path, &(struct metas){0}, &s, &l->node);
	if (r > 0)
		return node_new(NODE_PLAIN, l->path, &l->node);
	return o->in_zarr || !*l->path ? ZMAP_ABSENT : stat_object(l);
}

static bool
digits_only(const char *s, size_t n)
{
	return n && strspn(s, "0123456789") >= n;
}

/* The first name that can only be a chunk's decides: "1.7" or the directory "1". */
static int
judge_name(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	char *found = arg;
	const char *dot = strchr(name, '.');
	if (prefix && digits_only(name, strlen(name)))
		*found = '/';
	else if (!prefix && dot && digits_only(name, (size_t)(dot - name)))
		*found = '.';
	return *found != 0;
}

static int
detect_separator(const struct look *l, struct node *n)
{
	struct array_meta *a = n->array;
	char prefix[PATH_BYTES_MAX + 2];
	char found = 0;
	if (!a || !a->separator_assumed || l->how == HOW_LOOKUP || !l->model->opt.detect_separator)
		return 0;
	snprintf(prefix, sizeof prefix, "%s%s", l->path, *l->path ? "/" : "");
	int r = l->model->zmap->caps & ZMAP_LIST
			? zmap_list(l->model->zmap, prefix, judge_name, &found)
			: 0;
	if (r < 0)
		return r;
	a->separator_assumed = false;
	a->separator = found ? found : a->separator;
	return array_fingerprint(a);
}

/* Would anybody who holds `old` see something else in `new`? */
static bool
same_node(const struct node *old, const struct node *new)
{
	if (!old || old->kind != new->kind || old->mtime != new->mtime || old->size != new->size ||
		strcmp(old->version, new->version) || !old->error != !new->error ||
		!old->array != !new->array)
		return false;
	return !old->array || new->array->separator_assumed ||
	       (!old->array->separator_assumed && old->array->layout == new->array->layout);
}

static void
prefer_old(struct look *l)
{
	if (!l->node || l->node == l->old || !same_node(l->old, l->node))
		return;
	node_unref(l->node);
	l->node = node_ref(l->old);
}

static int
make(struct own *o, unsigned what)
{
	struct look *l = o->l;
	const struct scope s = walk_scope(l->walk, l->model);
	own_get_the_same(o);
	int r = what ? own_failure(o, true) : 0;
	if (r < 0)
		return r;
	if (what == V3)
		return meta_v3(l->path, &o->f.metas, &l->node);
	if (what == A) {
		r = meta_v2_array(l->path, &o->f.metas, &s, &l->node);
		return r < 0 ? r : detect_separator(l, l->node);
	}
	r = what ? make_group(o) : ZMAP_ABSENT;
	return r == ZMAP_ABSENT ? make_plain(o) : r;
}

static bool
separator_due(const struct look *l)
{
	const struct node *n = l->old;
	return l->how != HOW_LOOKUP && l->model->opt.detect_separator && n && n->array &&
	       n->array->separator_assumed;
}

static void
own_done(struct own *o)
{
	metas_done(&o->f.metas);
}

static bool
same_form(const struct array_meta *a, const struct array_meta *b)
{
	return a->layout == b->layout && a->rank == b->rank &&
	       (!a->rank || !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape));
}

/* The .zarray of an array that consolidated metadata know, on a remote store: one request, beside which theirs are good enough while the
 * layout is the same. Else, and where they know no such array, nothing is settled. */
static int
look_beside_consolidated(struct own *o)
{
	struct look *l = o->l;
	const struct scope s = walk_scope(l->walk, l->model);
	CLEAN(metas_done) struct metas theirs = {0};
	CLEAN(node_unrefp) struct node *before = NULL;
	if (!(l->model->zmap->caps & ZMAP_REMOTE) || !look_covered(l) ||
		!catalog_node(l->walk->con, l->path + l->walk->con_skip, &theirs) ||
		!theirs.of[META_ARRAY].data)
		return 0;
	o->f.if_changed = NULL; /* its bytes are needed, and are few */
	own_need(o, A);
	int r = o->f.result[META_ARRAY];
	if (r != 0)
		return r < 0 && !own_left_out(r) ? r : 0;
	struct metas mixed = theirs; /* borrowed */
	mixed.of[META_ARRAY] = o->f.metas.of[META_ARRAY];
	r = meta_v2_array(l->path, &theirs, &s, &before);
	if (r == 0)
		r = meta_v2_array(l->path, &mixed, &s, &l->node);
	if (r == 0)
		r = detect_separator(l, l->node);
	if (r == 0 && before->array && l->node->array && !l->node->error &&
		same_form(before->array, l->node->array))
		return own_keep_seen(o, &l->new_seen);
	l->node = node_unref(l->node);
	return r;
}

/* One time for both: .zmetadata is written last, and opening a file should not move its mtime. */
static void
settle(struct look *l)
{
	if (look_covered(l) && l->node->mtime < catalog_mtime(l->walk->con))
		l->node->mtime = catalog_mtime(l->walk->con);
	prefer_old(l);
}

/* ZMAP_ABSENT: no listing called it an object, or it is none any more. */
static int
look_listed(struct own *o)
{
	struct look *l = o->l;
	struct zmap_stat said;
	int64_t begun;
	if (o->in_zarr || !place_is_key(l->model, l->path, &said, &begun))
		return ZMAP_ABSENT;
	int r = object_listed(l, &said, begun);
	if (r == 0)
		r = own_keep_seen(o, &l->new_seen);
	if (r == 0)
		prefer_old(l);
	return r;
}

static int
look_own(struct look *l)
{
	const struct group_meta *parent =
		l->walk->in_zarr ? l->walk->up[l->walk->depth - 1]->group : NULL;
	CLEAN(own_done)
	struct own o = {.l = l, .in_zarr = l->walk->in_zarr, .v1 = parent && parent->v1};
	const struct scope s = walk_scope(l->walk, l->model);
	o.pure = scope_pure(&s);
	l->own = true;
	/* Bytes that made no sense come again in any case: the store may have cut them short. */
	o.f.if_changed =
		separator_due(l) || (l->old && (l->old->error || l->old->flaw)) ? NULL : l->seen;
	int r = look_listed(&o);
	if (r != ZMAP_ABSENT)
		return r;
	if (l->how == HOW_NOW && l->old && l->old->array && o.f.if_changed &&
		o.f.if_changed[META_ARRAY].version) {
		own_need(&o, A); /* all that decides what chunks mean */
		if (o.f.result[META_ARRAY] == ZMAP_SAME) {
			l->partly = true;
			l->node = node_ref(l->old);
			return 0;
		}
	}
	bool enough = false;
	r = consolidated_first(&o) ? by_consolidated(&o, &enough) : look_beside_consolidated(&o);
	if (r == 0 && l->node)
		settle(l);
	if (r == 0 && !l->node && !enough)
		r = own_names(&o);
	if (r < 0 || l->node)
		return r;
	unsigned what = enough ? ALL : own_what(&o);
	if (own_unchanged(&o) && what) {
		l->node = node_ref(l->old);
		if (!l->con)
			l->con = catalog_ref(l->old_con);
		return 0;
	}
	r = make(&o, what);
	if (r == 0)
		r = own_keep_seen(&o, &l->new_seen);
	if (r == 0)
		settle(l);
	return r;
}

static uint64_t
hash_metas(const struct metas *m)
{
	uint64_t h = HASH_START;
	for (unsigned k = 0; k < META_KINDS; k++) {
		if (!m->of[k].data)
			continue;
		h = hash_more(h, &k, sizeof k);
		h = hash_more(h, m->of[k].data, m->of[k].len);
	}
	return h;
}

/* What consolidated metadata say of the node, noted with the place, so that it is made again only when that changes. */
static bool
compare_consolidated(struct look *l, struct metas *m)
{
	if (!catalog_node(l->walk->con, l->path + l->walk->con_skip, m))
		return false;
	l->con_hash = hash_metas(m);
	l->con_id = catalog_id(l->walk->con);
	return true;
}

/* The node as consolidated metadata have it. */
static int
look_consolidated(struct look *l)
{
	CLEAN(metas_done) struct metas m = {0};
	const struct scope s = walk_scope(l->walk, l->model);
	if (!compare_consolidated(l, &m))
		return ZMAP_ABSENT;
	if (l->old && l->old_con_id && l->old_con_hash == l->con_hash && !separator_due(l)) {
		l->node = node_ref(l->old);
		return 0;
	}
	bool array = m.of[META_ARRAY].data;
	int r = array ? meta_v2_array(l->path, &m, &s, &l->node)
		      : meta_v2_group(l->path, &m, &s, &l->node);
	if (r == 0)
		r = detect_separator(l, l->node);
	if (r == 0)
		prefer_old(l);
	return r;
}

/* Do groups and arrays have objects of their own, besides consolidated metadata? Of a remote store these may be all that was looked at. */
static bool
beside_objects(const struct look *l)
{
	char key[PATH_BYTES_MAX + 32];
	struct zmap_stat st;
	if (l->walk->con_beside_objects || !(l->model->zmap->caps & ZMAP_REMOTE))
		return l->walk->con_beside_objects;
	snprintf(key, sizeof key, "%.*s.zgroup", (int)l->walk->con_skip, l->path);
	return zmap_stat(l->model->zmap, key, &st) == 0;
}

/* The node is in consolidated metadata and has no objects of its own: was it deleted, or did it never have any? */
static bool
deleted(const struct look *l)
{
	bool was_there = l->seen && (l->seen[META_ARRAY].present || l->seen[META_GROUP].present);
	return was_there || (beside_objects(l) && fetch_below(l) <= 0);
}

/* Nothing is there where something was, or the root's metadata are gone: is that so, or is it the whole store that went? */
static int
confirm_loss(const struct look *l, int r)
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
look_at(struct look *l)
{
	const struct catalog *con = l->walk->con;
	bool trust = l->model->opt.consolidated == CONSOLIDATED_TRUST;
	bool found_gone = con && !l->old && l->old_con_id == catalog_id(con);
	if (con && (trust || (look_covered(l) && l->how == HOW_LOOKUP && !found_gone))) {
		int alive = l->how == HOW_NOW ? fetch_alive(l->model) : 0;
		l->own = l->how != HOW_LOOKUP;
		return alive < 0 ? alive : look_consolidated(l);
	}
	int r = look_own(l);
	if (r == ZMAP_ABSENT && look_covered(l) && !deleted(l)) {
		r = fetch_alive(l->model);
		return r < 0 ? r : look_consolidated(l);
	}
	CLEAN(metas_done) struct metas m = {0};
	if (look_covered(l))
		compare_consolidated(l, &m);
	return confirm_loss(l, r);
}
