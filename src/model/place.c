/* Places by path, and the one look at each that is under way. */
#include "model/place.h"

#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void
walk_done(struct walk *w)
{
	for (unsigned i = 0; i < w->depth; i++)
		node_unref(w->up[i]);
	catalog_unref(w->con);
	*w = (struct walk){0};
}

struct scope
walk_scope(const struct walk *w, const struct model *m)
{
	return (struct scope){
		.group = w->up + w->top,
		.depth = w->in_zarr ? w->depth - w->top : 0,
		.mode = m->opt.mode,
	};
}

bool
walk_covers(const struct walk *w)
{
	const char *path = w->depth ? w->up[w->depth - 1]->path : "";
	if (!w->con)
		return false;
	/* con's own group has a path one shorter than con_skip */
	return strlen(path) < w->con_skip || catalog_has(w->con, path + w->con_skip);
}

static size_t
bucket_of(const struct model *m, const char *path)
{
	return hash_more(HASH_START, path, strlen(path)) & (m->nbuckets - 1);
}

struct place *
place_find(const struct model *m, const char *path)
{
	struct place *p = m->nbuckets ? m->bucket[bucket_of(m, path)] : NULL;
	while (p && strcmp(p->path, path))
		p = p->next;
	return p;
}

static void
drop_names(struct place *p)
{
	for (size_t i = 0; i < p->nnames; i++)
		free(p->names[i]);
	free(p->names);
	p->names = NULL;
	p->nnames = 0;
}

static size_t
place_bytes(const struct place *p)
{
	size_t bytes = p->seen ? META_KINDS * sizeof *p->seen + ZMAP_VERSION : 0;
	for (size_t i = 0; i < p->nnames; i++)
		bytes += strlen(p->names[i]) + sizeof *p->names + sizeof(void *);
	if (p->listed)
		bytes += listed_bytes(p->listed);
	return bytes + (p->node ? node_bytes(p->node) : 0) + (p->con ? catalog_bytes(p->con) : 0);
}

void
place_put_names(struct model *m, struct place *p, char **names, size_t n, int64_t due)
{
	m->bytes -= place_bytes(p);
	drop_names(p);
	p->names = names;
	p->nnames = n;
	p->names_due = due;
	m->bytes += place_bytes(p);
}

void
place_put_listed(struct model *m, struct place *p, struct listed *k)
{
	m->bytes -= place_bytes(p);
	listed_free(p->listed);
	p->listed = k;
	m->bytes += place_bytes(p);
}

bool
place_is_key(struct model *m, const char *path, struct zmap_stat *ret, int64_t *ret_begun)
{
	const char *slash = strrchr(path, '/');
	CLEAN(clean_free) char *dir = strndup(path, slash ? (size_t)(slash - path) : 0);
	const char **found = NULL;
	*ret_begun = 0;
	if (!dir || !*path)
		return false;
	LOCKED(&m->lock) {
		const struct place *p = place_find(m, dir);
		if (p && p->listed && when_now() < p->listed->due)
			found = listed_find(p->listed, slash ? slash + 1 : path);
		if (found && listed_is_prefix(*found))
			found = NULL;
		if (found && listed_stat(*found, ret))
			*ret_begun = p->listed->begun;
	}
	return found;
}

void
place_forget(struct model *m, struct place *p)
{
	assert(!p->busy);
	struct place **at = &m->bucket[bucket_of(m, p->path)];
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	m->nplaces--;
	m->nabsent -= p->known && !p->node;
	m->bytes -= place_bytes(p);
	drop_names(p);
	listed_free(p->listed);
	seen_free(p->seen);
	catalog_unref(p->con);
	node_unref(p->node);
	free(p->path);
	free(p);
}

enum { BUCKETS_FIRST = 256, ABSENT_MAX = 4096 };

/* The table doubles when it is full. Without memory it stays as it is, and only gets slower. */
static int
grow(struct model *m)
{
	size_t n = m->nbuckets ? 2 * m->nbuckets : BUCKETS_FIRST;
	struct place **old = m->bucket, **new = calloc(n, sizeof *new);
	size_t nold = m->nbuckets;
	if (!new)
		return nold ? 0 : err_set(-ENOMEM, "no memory for a table of paths");
	m->bucket = new;
	m->nbuckets = n;
	for (size_t i = 0; i < nold; i++)
		for (struct place *p = old[i], *next; p; p = next) {
			next = p->next;
			size_t b = bucket_of(m, p->path);
			p->next = new[b];
			new[b] = p;
		}
	free(old);
	return 0;
}

/* Names that programs only try must not fill memory. */
static void
drop_absent(struct model *m)
{
	for (size_t i = 0; i < m->nbuckets; i++)
		for (struct place *p = m->bucket[i], *next; p; p = next) {
			next = p->next;
			if (!p->node && !p->busy && *p->path)
				place_forget(m, p);
		}
}

static int
add_place(struct model *m, const char *path, struct place **ret)
{
	if (m->nabsent > ABSENT_MAX)
		drop_absent(m);
	int r = m->nplaces >= m->nbuckets ? grow(m) : 0;
	if (r < 0)
		return r;
	struct place *p = calloc(1, sizeof *p);
	if (!p || !(p->path = strdup(path))) {
		free(p);
		return err_set(-ENOMEM, "no memory for path '%s'", path);
	}
	size_t b = bucket_of(m, path);
	p->next = m->bucket[b];
	m->bucket[b] = p;
	m->nplaces++;
	*ret = p;
	return 0;
}

/* What is known of a place answers the question. Lock held. */
static bool
fresh(const struct model *m, const struct place *p, const struct look *l)
{
	const struct catalog *con = l->walk->con;
	bool covered = con && catalog_has(con, l->path + l->walk->con_skip);
	bool in_time = l->begun < p->due;
	if (!p->known || p->con_id != (covered ? catalog_id(con) : 0))
		return false;
	if (l->how == HOW_NOW)
		return p->begun >= l->begun; /* somebody else just did */
	if (l->how == HOW_CHECK && m->opt.detect_separator && p->node && p->node->array &&
		p->node->array->separator_assumed)
		return false;
	if (covered && l->how == HOW_LOOKUP && p->node)
		return true;
	return in_time || (covered && m->opt.consolidated == CONSOLIDATED_TRUST);
}

/* Waits while somebody else looks at the place. */
static int
wait_idle(struct model *m, const struct look *l)
{
	const struct timespec until = {l->walk->deadline / SECOND, l->walk->deadline % SECOND};
	if (pthread_cond_timedwait(&m->idle, &m->lock, &until) == ETIMEDOUT &&
		when_over(l->walk->deadline))
		return err_set(-ETIMEDOUT, "no answer about '%s' in time", l->path);
	return 0;
}

enum { ANSWERED = 1 };

/* ANSWERED: *ret (NULL: absent) is the answer; 0: the place is now busy, and the caller is to look. Lock held. */
static int
begin(struct look *l, struct place **ret_place, struct node **ret)
{
	struct model *m = l->model;
	struct place *p;
	int r = 0;
	while ((p = place_find(m, l->path)) && p->busy && r == 0)
		r = wait_idle(m, l); /* and the place may have been forgotten meanwhile */
	if (r == 0 && !p)
		r = add_place(m, l->path, &p);
	if (r < 0)
		return r;
	if (fresh(m, p, l)) {
		*ret = node_ref(p->node);
		return ANSWERED;
	}
	p->busy = true;
	l->begun = when_now(); /* good for all who asked before */
	l->wall = when_wall();
	l->before = p->begun;
	l->old = node_ref(p->node);
	l->seen = p->seen;
	l->old_con = p->con;
	l->old_con_id = p->con_id;
	l->old_con_hash = p->con_hash;
	*ret_place = p;
	return 0;
}

/* How long an answer holds: not all run out together. */
static int64_t
next_due(struct model *m, const struct look *l)
{
	int64_t ttl = m->opt.ttl;
	if (ttl == INT64_MAX)
		return INT64_MAX;
	m->seed = m->seed * 1664525u + 1013904223u;
	ttl -= (int64_t)((double)(ttl / 8) * (m->seed >> 8) / (1 << 24));
	const int64_t absent = 5 * SECOND; /* a new name of a local store should not have to wait */
	if (!l->node && !(m->zmap->caps & ZMAP_REMOTE) && ttl > absent)
		ttl = absent;
	return l->begun + ttl;
}

static void
put_con(struct place *p, struct look *l)
{
	if (l->partly)
		return;
	catalog_unref(p->con);
	p->con = MOVE(l->con);
}

/* The node is no longer made of what was seen then. */
static void
forget_versions(struct seen *s)
{
	for (unsigned k = 0; s && k < META_KINDS; k++) {
		free(s[k].version);
		s[k].version = NULL;
	}
}

/* Puts the outcome of a look in. Lock held. */
static void
put(struct model *m, struct place *p, struct look *l)
{
	m->bytes -= place_bytes(p);
	m->nabsent -= p->known && !p->node;
	p->known = true;
	m->nabsent += !l->node;
	node_unref(p->node);
	p->node = node_ref(l->node);
	if (l->new_seen) {
		seen_free(p->seen);
		p->seen = MOVE(l->new_seen);
	}
	put_con(p, l);
	if (l->own) {
		p->begun = l->begun;
		p->wall = l->wall;
		if (!l->partly)
			p->due = next_due(m, l);
	} else if (l->node != l->old) { /* consolidated metadata changed, or are new here */
		p->due = 0;
		forget_versions(p->seen);
	}
	if (!l->partly) {
		p->con_id = l->con_id;
		p->con_hash = l->con_hash;
	}
	m->bytes += place_bytes(p);
}

static void
look_done(struct look *l)
{
	seen_free(l->new_seen);
	catalog_unref(l->con);
	node_unref(l->node);
	node_unref(l->old);
}

int
place_get_child(
	struct model *m, const char *path, enum how how, const struct walk *w, struct node **ret)
{
	CLEAN(look_done)
	struct look l = {.model = m, .path = path, .walk = w, .how = how, .begun = when_now()};
	CLEAN(node_unrefp) struct node *answer = NULL;
	struct place *p = NULL;
	int r = 0;
	if (w->con && m->opt.consolidated == CONSOLIDATED_TRUST &&
		!catalog_has(w->con, path + w->con_skip))
		return ZMAP_ABSENT;
	LOCKED(&m->lock)
		r = begin(&l, &p, &answer);
	if (r < 0)
		return r;
	if (r != ANSWERED) {
		r = look_at(&l);
		LOCKED(&m->lock) {
			if (r >= 0)
				put(m, p, &l);
			p->busy = false;
			pthread_cond_broadcast(&m->idle);
		}
		if (r < 0)
			return r;
		if (l.old && l.old != l.node && m->changed)
			m->changed(m->changed_arg, l.old, l.node);
		answer = node_ref(l.node);
	}
	if (!answer)
		return ZMAP_ABSENT;
	*ret = MOVE(answer);
	return 0;
}

/* Takes the node over: it now stands above what comes next. */
static void
step(struct model *m, struct walk *w, struct node *n)
{
	if (n->kind == NODE_GROUP && !w->in_zarr) {
		w->in_zarr = true;
		w->top = w->depth;
	}
	w->up[w->depth++] = n;
	LOCKED(&m->lock) {
		const struct place *p = place_find(m, n->path);
		if (p && p->con) {
			catalog_unref(w->con);
			w->con = catalog_ref(p->con);
			w->con_skip = strlen(n->path) + (*n->path != 0);
			w->con_beside_objects = p->seen && p->seen[META_GROUP].present;
		}
	}
}

/* Does anything lie below it that we show? */
static bool
has_children(const struct node *n)
{
	return n->kind == NODE_PLAIN || (n->kind == NODE_GROUP && n->error_code != -ENOTSUP);
}

static bool
is_node_path(const char *path)
{
	if (strlen(path) > PATH_BYTES_MAX || (*path && zmap_check_key(path) < 0))
		return false;
	unsigned depth = 1;
	for (const char *p = path; (p = strchr(p, '/')); p++)
		depth++;
	return depth < DEPTH_MAX;
}

int
place_get(struct model *m, const char *path, enum how how, struct walk *ret_walk, struct node **ret)
{
	CLEAN(walk_done) struct walk own_walk = {0};
	struct walk *w = ret_walk ? ret_walk : &own_walk;
	char prefix[PATH_BYTES_MAX + 1];
	if (!is_node_path(path))
		return ZMAP_ABSENT;
	w->deadline = when_now() + m->opt.timeout;
	bool trust = m->opt.consolidated == CONSOLIDATED_TRUST;
	size_t end = 0;
	for (bool root = true;; root = false) {
		size_t begin = root || !end ? 0 : end + 1;
		end = root ? 0 : begin + strcspn(path + begin, "/");
		memcpy(prefix, path, end);
		prefix[end] = 0;
		if (meta_is_name(prefix + begin))
			return ZMAP_ABSENT;
		bool last = !path[end];
		CLEAN(node_unrefp) struct node *n = NULL;
		const enum how step_how = last || (trust && how == HOW_NOW) ? how : HOW_LOOKUP;
		const bool walked = last && how == HOW_LOOKUP && w->depth && !w->in_zarr &&
				    m->zmap->caps & ZMAP_REMOTE;
		int r = walked ? siblings_get(m, prefix, w, &n)
			       : place_get_child(m, prefix, step_how, w, &n);
		if (r)
			return r;
		if (last) {
			*ret = node_ref(n);
			if (ret_walk)
				step(m, w, MOVE(n));
			return 0;
		}
		if (!has_children(n))
			return ZMAP_ABSENT;
		step(m, w, MOVE(n));
	}
}
