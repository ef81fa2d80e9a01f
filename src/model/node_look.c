/* The one look at a path that is under way: other threads wait for what comes of it. */
#include "model/node_cache.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

/* This thread is told what is known of a cached node. What consolidated metadata know holds as long
 * as they do. Lock held. */
static void
note_told(const struct model *m, const struct cached_node *p, const struct discovery *l)
{
	bool trust = m->opt.consolidated == CONSOLIDATED_TRUST;
	if (!(l->covered && (trust || (l->how == HOW_LOOKUP && p->node))))
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

/* ANSWERED: *ret (NULL: absent) is the answer; 0: the cached node is now busy, and the caller is to
 * look. Lock held. */
static int
begin(struct discovery *l, struct cached_node **ret_place, struct node **ret)
{
	struct model *m = l->model;
	struct cached_node *p;
	int r = 0;
	while ((p = node_cache_find(m, l->path)) && p->busy && r == 0)
		r = wait_idle(m, l); /* and the cached node may have been forgotten meanwhile */
	if (r == 0 && !p)
		r = node_cache_add(m, l->path, &p);
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

/* ns. A new name of a local store should not have to wait. */
static const int64_t ABSENT_FOR = 5 * SECOND;

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
		if (!holds || node_cache_find(m, path) || node_cache_add(m, path, &p) < 0)
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
	node_cache_count_out(m, p);
	m->nabsent -= p->known && !p->node;
	p->known = true;
	m->nabsent += !l->node;
	node_unref(p->node);
	p->node = node_ref(l->node);
	if (l->node && l->node != l->old)
		l->node->serial = ++m->serial;
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
	node_cache_count_in(m, p);
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
