/* Places by path, and the one look at each that is under way. */
#include "model/node_cache.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/path.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static size_t
bucket_of(const struct model *m, const char *path)
{
	return hash_bytes(HASH_START, path, strlen(path)) & (m->nbuckets - 1);
}

struct cached_node *
node_cache_find(const struct model *m, const char *path)
{
	struct cached_node *p = m->nbuckets ? m->bucket[bucket_of(m, path)] : NULL;
	while (p && strcmp(p->path, path))
		p = p->next;
	return p;
}

static void
free_names(char ***names, size_t *n)
{
	for (size_t i = 0; *names && i < *n; i++)
		free((*names)[i]);
	free(*names);
	*names = NULL;
	*n = 0;
}

void
discovery_drop_names(struct discovery *l)
{
	free_names(&l->names, &l->nnames);
}

static size_t
node_cache_bytes(const struct cached_node *p)
{
	size_t bytes = p->seen ? META_KINDS * sizeof *p->seen + ZMAP_VERSION : 0;
	for (size_t i = 0; i < p->nnames; i++)
		bytes += strlen(p->names[i]) + sizeof *p->names + sizeof(void *);
	if (p->listed)
		bytes += listed_bytes(p->listed);
	return bytes + (p->node ? node_bytes(p->node) : 0) +
	       (p->con ? consolidated_bytes(p->con) : 0);
}

/* From now on what is known of the cached node counts. Lock held. */
static void
count_in(struct model *m, const struct cached_node *p)
{
	m->bytes += node_cache_bytes(p);
	m->con_bytes += p->con ? consolidated_bytes(p->con) : 0;
}

/* No longer. Lock held. */
static void
count_out(struct model *m, const struct cached_node *p)
{
	m->bytes -= node_cache_bytes(p);
	m->con_bytes -= p->con ? consolidated_bytes(p->con) : 0;
}

static void
link_newest(struct model *m, struct cached_node *p)
{
	p->newer = NULL;
	p->older = m->newest;
	*(m->newest ? &m->newest->newer : &m->oldest) = p;
	m->newest = p;
}

static void
unlink_aged(struct model *m, struct cached_node *p)
{
	*(p->older ? &p->older->newer : &m->oldest) = p->newer;
	*(p->newer ? &p->newer->older : &m->newest) = p->older;
}

void
node_cache_renew(struct model *m, struct cached_node *p)
{
	unlink_aged(m, p);
	link_newest(m, p);
}

void
node_cache_put_names(struct model *m, struct cached_node *p, char **names, size_t n, int64_t begun)
{
	count_out(m, p);
	free_names(&p->names, &p->nnames);
	p->names = names;
	p->nnames = n;
	p->names_begun = begun;
	p->names_due = m->opt.ttl == INT64_MAX ? INT64_MAX : begun + m->opt.ttl;
	if (begun <= m->renamed_at)
		p->names_due = 0;
	p->crowded = !names;
	count_in(m, p);
}

void
node_cache_put_listed(struct model *m, struct cached_node *p, struct listed *k)
{
	count_out(m, p);
	listed_free(p->listed);
	p->listed = k;
	count_in(m, p);
}

bool
node_cache_is_key(struct model *m, const char *path, struct zmap_stat *ret, int64_t *ret_begun)
{
	CLEAN(clean_free) char *dir = path_above(path);
	const char **found = NULL;
	*ret_begun = 0;
	if (!dir || !*path)
		return false;
	LOCKED(&m->lock) {
		const struct cached_node *p = node_cache_find(m, dir);
		if (p && p->listed && clock_now() < p->listed->due)
			found = listed_find(p->listed, path_name(path));
		if (found && listed_is_prefix(*found))
			found = NULL;
		if (found && listed_stat(*found, ret))
			*ret_begun = p->listed->begun;
	}
	return found;
}

void
node_cache_forget(struct model *m, struct cached_node *p)
{
	assert(!p->busy);
	struct cached_node **at = &m->bucket[bucket_of(m, p->path)];
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	unlink_aged(m, p);
	m->nplaces--;
	m->nabsent -= p->known && !p->node;
	count_out(m, p);
	free_names(&p->names, &p->nnames);
	listed_free(p->listed);
	seen_free(p->seen);
	consolidated_unref(p->con);
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
	struct cached_node **old = m->bucket, **new = calloc(n, sizeof *new);
	size_t nold = m->nbuckets;
	if (!new)
		return nold ? 0 : err_set(-ENOMEM, "no memory for a table of paths");
	m->bucket = new;
	m->nbuckets = n;
	for (size_t i = 0; i < nold; i++)
		for (struct cached_node *p = old[i], *next; p; p = next) {
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
		for (struct cached_node *p = m->bucket[i], *next; p; p = next) {
			next = p->next;
			if (!p->node && !p->busy && *p->path)
				node_cache_forget(m, p);
		}
}

static int
add_place(struct model *m, const char *path, struct cached_node **ret)
{
	if (m->nabsent > ABSENT_MAX)
		drop_absent(m);
	int r = m->nplaces >= m->nbuckets ? grow(m) : 0;
	if (r < 0)
		return r;
	struct cached_node *p = calloc(1, sizeof *p);
	if (!p || !(p->path = strdup(path))) {
		free(p);
		return err_set(-ENOMEM, "no memory for path '%s'", path);
	}
	size_t b = bucket_of(m, path);
	p->next = m->bucket[b];
	m->bucket[b] = p;
	link_newest(m, p);
	m->nplaces++;
	*ret = p;
	return 0;
}

static _Thread_local int64_t *watch; /* see model_watch */

void
model_watch(int64_t *until)
{
	watch = until;
	if (until)
		*until = INT64_MAX;
}

void
node_cache_told(int64_t due)
{
	if (watch && due < *watch)
		*watch = due;
}

/* This thread is told what is known of a cached node. What consolidated metadata know holds as long as they do. Lock held. */
static void
note_told(const struct model *m, const struct cached_node *p, const struct discovery *l)
{
	bool trust = m->opt.consolidated == CONSOLIDATED_TRUST;
	if (watch && !(l->covered && (trust || (l->how == HOW_LOOKUP && p->node))))
		node_cache_told(p->due);
}

/* What is known of a cached node answers the question. Lock held. */
static bool
fresh(const struct model *m, const struct cached_node *p, const struct discovery *l)
{
	const struct consolidated_index *con = l->walk->con;
	bool doubted = l->covered && l->how == HOW_CHECK && p->begun < consolidated_doubted(con);
	bool in_time = l->begun < p->due && !doubted;
	if (!p->known || p->con_id != (l->covered ? consolidated_id(con) : 0))
		return false;
	if (l->how >= HOW_NOW)
		return p->begun >= l->begun; /* another thread just did */
	if (l->how == HOW_CHECK && m->opt.detect_separator && p->node && p->node->array &&
		p->node->array->separator_assumed)
		return false;
	if (l->covered && l->how == HOW_LOOKUP && p->node)
		return true;
	return in_time || (l->covered && m->opt.consolidated == CONSOLIDATED_TRUST);
}

/* Waits while another thread looks at the cached node. */
static int
wait_idle(struct model *m, const struct discovery *l)
{
	const struct timespec until = {l->walk->deadline / SECOND, l->walk->deadline % SECOND};
	if (pthread_cond_timedwait(&m->idle, &m->lock, &until) == ETIMEDOUT &&
		clock_over(l->walk->deadline))
		return err_set(-ETIMEDOUT, "no answer about '%s' in time", l->path);
	return 0;
}

enum { ANSWERED = 1 };

/* ANSWERED: *ret (NULL: absent) is the answer; 0: the cached node is now busy, and the caller is to look. Lock held. */
static int
begin(struct discovery *l, struct cached_node **ret_place, struct node **ret)
{
	struct model *m = l->model;
	struct cached_node *p;
	int r = 0;
	while ((p = node_cache_find(m, l->path)) && p->busy && r == 0)
		r = wait_idle(m, l); /* and the cached node may have been forgotten meanwhile */
	if (r == 0 && !p)
		r = add_place(m, l->path, &p);
	if (r < 0)
		return r;
	node_cache_renew(m, p);
	if (fresh(m, p, l)) {
		note_told(m, p, l);
		*ret = node_ref(p->node);
		return ANSWERED;
	}
	p->busy = true;
	l->begun = clock_now(); /* good for all threads that asked before */
	l->wall = clock_wall();
	l->before = p->begun;
	l->old = node_ref(p->node);
	l->seen = p->seen;
	l->old_con = p->con;
	l->old_con_id = p->con_id;
	l->old_con_hash = p->con_hash;
	*ret_place = p;
	return 0;
}

static const int64_t ABSENT_FOR =
	5 * SECOND; /* a new name of a local store should not have to wait */

/* How long an answer holds: not all run out together. */
static int64_t
next_due(struct model *m, const struct discovery *l)
{
	int64_t ttl = m->opt.ttl;
	if (ttl == INT64_MAX)
		return INT64_MAX;
	m->seed = m->seed * 1664525u + 1013904223u;
	ttl -= (int64_t)((double)(ttl / 8) * (m->seed >> 8) / (1 << 24));
	if (!l->node && !(m->zmap->caps & ZMAP_REMOTE) && ttl > ABSENT_FOR)
		ttl = ABSENT_FOR;
	return l->begun + ttl;
}

void
model_unlisted(struct model *m, const char *path, int64_t begun)
{
	struct cached_node *p = NULL;
	LOCKED(&m->lock) {
		const bool holds = begun > m->renamed_at && clock_now() < begun + ABSENT_FOR;
		if (!holds || node_cache_find(m, path) || add_place(m, path, &p) < 0)
			break; /* without memory the store is asked */
		const struct discovery none = {.begun = begun};
		p->known = true;
		p->begun = begun;
		p->due = next_due(m, &none);
		m->nabsent++;
		node_cache_make_room(m);
	}
}

static void
put_con(struct cached_node *p, struct discovery *l)
{
	if (l->partly)
		return;
	consolidated_unref(p->con);
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

/* Chunks mean other elements than they did. */
static bool
means_other(const struct node *old, const struct node *now)
{
	const struct array_meta *a = old ? old->array : NULL, *b = now ? now->array : NULL;
	if (!a || !b)
		return false;
	bool other = a->layout != b->layout || a->rank != b->rank;
	for (unsigned i = 0; !other && i < a->rank; i++)
		other = b->shape[i] < a->shape[i];
	return other;
}

/* Puts the outcome of a look in. Lock held. */
static void
put(struct model *m, struct cached_node *p, struct discovery *l)
{
	if (l->own && l->con_id && l->old_con_id == l->con_id && means_other(l->old, l->node))
		consolidated_doubt(l->walk->con, clock_now());
	count_out(m, p);
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
	count_in(m, p);
	if (l->names && l->node && l->node->kind == NODE_GROUP && !p->con && !l->walk->con)
		node_cache_put_names(m, p, MOVE(l->names), l->nnames, l->names_begun);
}

static void
look_done(struct discovery *l)
{
	discovery_drop_names(l);
	seen_free(l->new_seen);
	consolidated_unref(l->con);
	node_unref(l->node);
	node_unref(l->old);
}

int
node_cache_get_child(struct model *m, const char *path, enum how how, const struct path_walk *w,
	struct node **ret)
{
	CLEAN(look_done)
	struct discovery l = {.model = m,
		.path = path,
		.walk = w,
		.how = how,
		.covered = w->con && consolidated_has(w->con, path + w->con_skip),
		.begun = clock_now()};
	CLEAN(node_unrefp) struct node *answer = NULL;
	struct cached_node *p = NULL;
	int r = 0;
	if (w->con && m->opt.consolidated == CONSOLIDATED_TRUST && !l.covered)
		return ZMAP_ABSENT;
	LOCKED(&m->lock)
		r = begin(&l, &p, &answer);
	if (r < 0)
		return r;
	if (r != ANSWERED) {
		r = discover(&l);
		LOCKED(&m->lock) {
			if (r >= 0) {
				put(m, p, &l);
				note_told(m, p, &l);
			}
			p->busy = false;
			node_cache_make_room(m);
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
