/* Sends each key to the container that it lies in, or to the store. */
#include "backends/container/impl.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- which keys belong to which array --- */

/* What remains of a key, or of a path without '/' at its end, in the site; NULL: it lies
 * elsewhere. */
static const char *
within(const struct site *s, const char *key)
{
	if (!strncmp(key, s->root, s->len))
		return key + s->len;
	bool itself = strlen(key) + 1 == s->len && !strncmp(key, s->root, s->len - 1);
	return itself ? key + s->len - 1 : NULL;
}

/* Sites are never taken away before the store is closed. */
static struct container *
container_of(struct containers *p, const char *key, const char **ret_key)
{
	struct site *s = NULL;
	const char *rest = NULL;
	LOCKED(&p->lock) {
		for (s = p->sites; s && !(rest = within(s, key)); s = s->next)
			;
	}
	if (rest)
		*ret_key = rest;
	return rest ? s->container : NULL;
}

static int
add_site(struct containers *p, const char *root, struct container *c)
{
	size_t len = strlen(root);
	struct site *s = calloc(1, sizeof *s + len + 1);
	if (!s) {
		c->ops->close(c);
		return err_set(-ENOMEM, "no memory for a store");
	}
	s->len = len;
	memcpy(s->root, root, len + 1);
	s->container = c;
	LOCKED(&p->lock) {
		s->next = p->sites;
		p->sites = s;
	}
	if (!len)
		p->z.caps |=
			ZMAP_LIST; /* before others know the store: its root is looked at first */
	return 0;
}

static int
open_there(struct containers *p, const struct container_env *env, bool bare, struct container **ret)
{
	int r = ZMAP_ABSENT;
	for (const struct container_ops *const *o = container_table; *o && r == ZMAP_ABSENT; o++)
		if (!(bare && (*o)->consolidated))
			r = (*o)->open(env, ret);
	return r;
}

static int
container_enter(struct zmap *z, const char *path, bool bare)
{
	struct containers *p = (struct containers *)z;
	const char *rest;
	struct container *c = container_of(p, path, &rest);
	if (c)
		return !*rest;
	CLEAN(clean_free) char *root = NULL;
	if (asprintf(&root, "%s%s", path, *path ? "/" : "") < 0) {
		root = NULL;
		return err_set(-ENOMEM, "no memory for a path");
	}
	struct container_env env = p->env;
	env.root = root;
	env.named = p->env.named && !*path;
	env.ref = *path ? NULL : p->ref;
	env.name = *path ? NULL : p->name;
	int r = 0;
	LOCKED(&p->entering) { /* rare, and each has its deadlines */
		if (container_of(p, path, &rest))
			return 1;
		r = open_there(p, &env, bare, &c);
		if (r == 0)
			r = add_site(p, root, c);
	}
	return r == 0 ? 1 : r == ZMAP_ABSENT ? 0 : r;
}

/* --- what is asked of a store --- */

static int
document_get(struct container *c, const char *key, const struct zmap_get *g, struct zmap_stat *ret)
{
	CLEAN(buf_free) struct buf all = {0};
	uint64_t off;
	size_t len;
	int r = g->if_none_match || g->if_match ? c->ops->document(c, key, NULL, ret) : 0;
	if (r == 0 && (g->if_none_match || g->if_match))
		r = zmap_condition(g, ret->version);
	if (r == 0)
		r = c->ops->document(c, key, &all, ret);
	if (r == 0)
		r = zmap_range(g, all.len, &off, &len);
	return r == 0 ? buf_add(g->into, all.data + off, len) : r;
}

static int
container_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct containers *p = (struct containers *)z;
	const char *rest;
	struct container *c = container_of(p, g->chunk ? g->chunk->array : g->key, &rest);
	if (!c)
		return g->chunk ? err_set(-ESTALE, "what said where its chunks are is gone")
				: zmap_get(p->lower, g, ret);
	if (g->local_only) /* what the tables lack may need a round trip, whatever lower has at hand
			    */
		return ZMAP_NOT_LOCAL;
	if (!g->chunk)
		return document_get(c, rest, g, ret);
	struct zmap_chunk chunk = *g->chunk;
	chunk.array = rest;
	return container_chunk(p, c, &chunk, g, ret);
}

static int
container_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	struct containers *p = (struct containers *)z;
	const char *rest;
	struct container *c = container_of(p, key, &rest);
	return c ? c->ops->document(c, rest, NULL, ret)
		 : zmap_stat_while(p->lower, key, cancel, ret);
}

static void
container_submit(struct zmap *z, const struct zmap_get *g, zmap_done_fn *done, void *arg)
{
	struct containers *p = (struct containers *)z;
	struct zmap_stat s = {0};
	const char *rest;
	if (!g->chunk && !container_of(p, g->key, &rest)) {
		zmap_submit(p->lower, g, done, arg);
		return;
	}
	int r = container_get(z, g, &s);
	done(arg, r, &s);
}

static int
container_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	struct containers *p = (struct containers *)z;
	const char *rest;
	struct container *c = container_of(p, prefix, &rest);
	return c ? c->ops->list(c, rest, fn, arg) : zmap_list(p->lower, prefix, fn, arg);
}

static int
writable(struct containers *p, const char *key)
{
	const char *rest;
	struct container *c = container_of(p, key, &rest);
	return c ? err_set(-EROFS, "what is in a container (%s) cannot be written", c->ops->name)
		 : 0;
}

static int
container_put(struct zmap *z, const struct zmap_put *put, struct zmap_stat *ret)
{
	struct containers *p = (struct containers *)z;
	int r = writable(p, put->key);
	return r < 0 ? r : zmap_put(p->lower, put, ret);
}

static int
container_del(struct zmap *z, const struct zmap_del *del)
{
	struct containers *p = (struct containers *)z;
	int r = writable(p, del->key);
	return r < 0 ? r : zmap_del(p->lower, del);
}

static int
container_sync(struct zmap *z)
{
	return zmap_sync(((struct containers *)z)->lower);
}

static int
container_try_writing(struct zmap *z, struct buf *said)
{
	struct containers *p = (struct containers *)z;
	int r = container_enter(z, "", false); /* it may not have been looked for yet */
	if (r >= 0)
		r = writable(p, "");
	return r < 0 ? r : zmap_try_below(z, p->lower, said);
}

/* All containers, one after the other, with nothing locked. */
static int
each(struct containers *p, int (*fn)(struct container *, void *), void *arg)
{
	struct site *s = NULL;
	int r = 0;
	LOCKED(&p->lock)
		s = p->sites;
	for (; s && r >= 0; s = s->next)
		r = fn(s->container, arg);
	return r;
}

static int
refresh_one(struct container *c, void *arg)
{
	return c->ops->refresh ? c->ops->refresh(c) : 0;
}

static int
container_alive(struct zmap *z)
{
	struct containers *p = (struct containers *)z;
	int r = zmap_alive(p->lower);
	return r < 0 ? r : each(p, refresh_one, NULL);
}

struct telling {
	struct buf *to;
	bool any;
};

static int
tell_one(struct container *c, void *arg)
{
	struct telling *t = arg;
	t->any |= c->ops->history != NULL;
	return c->ops->history && t->to ? c->ops->history(c, t->to) : 0;
}

static int
container_history(struct zmap *z, struct buf *ret)
{
	struct telling t = {.to = ret};
	int r = each((struct containers *)z, tell_one, &t);
	return r == 0 && !t.any ? ZMAP_ABSENT : r;
}

static int
add_held(struct container *c, void *arg)
{
	size_t *sum = arg;
	*sum += c->ops->held ? c->ops->held(c) : 0;
	return 0;
}

static size_t
container_held(struct zmap *z)
{
	struct containers *p = (struct containers *)z;
	size_t sum = zmap_held(p->lower);
	each(p, add_held, &sum);
	return sum;
}

static bool
container_sign(struct zmap *z, const char *name)
{
	for (const struct container_ops *const *o = container_table; *o; o++)
		for (const char *const *sign = (*o)->signs; sign && *sign; sign++)
			if (!strcmp(*sign, name))
				return true;
	return false;
}

static int
container_stats(struct zmap *z, struct buf *ret)
{
	return zmap_stats(((struct containers *)z)->lower, ret);
}

/* --- opening --- */

static void
container_close(struct zmap *z)
{
	struct containers *p = (struct containers *)z;
	for (struct site *s; (s = p->sites);) {
		p->sites = s->next;
		s->container->ops->close(s->container);
		free(s);
	}
	sources_free(p->sources);
	zmap_close(p->lower);
	free(p->ref);
	free(p->name);
	free(p->home);
	pthread_mutex_destroy(&p->entering);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

extern const struct zmap_ops backend_container;

/* "#branch=NAME" of the URL, or the option. NULL: neither. */
static int
find_ref(const struct url *url, const struct zmap_options *options, char **ret)
{
	static const char *const words[] = {"branch", "tag", "snapshot"};
	const char *said = options->ref, *before = "", *dot = "";
	for (unsigned i = 0; i < sizeof words / sizeof *words && !said; i++) {
		said = url_get(url, words[i]);
		before = i < 2 ? words[i] : "";
		dot = i < 2 ? "." : "";
	}
	*ret = NULL;
	if (said && asprintf(ret, "%s%s%s", before, dot, said) < 0) {
		*ret = NULL;
		return err_set(-ENOMEM, "no memory for a name");
	}
	return 0;
}

/* Of what lies in another store's object there is no URL. */
static int
find_home(const struct url *url, char **ret)
{
	bool local = !strcmp(url->backend, "dir"), web = url->host && *url->host;
	*ret = NULL;
	if ((url->below && *url->below) || (!local && !web))
		return 0;
	if (asprintf(ret, "%s://%s%s", local ? "file" : url->scheme, local ? "" : url->host,
		    strcmp(url->path, "/") != 0 ? url->path : "") < 0) {
		*ret = NULL;
		return err_set(-ENOMEM, "no memory for a URL");
	}
	return 0;
}

/* Takes lower over, also on failure. */
static int
stand_before(struct zmap *lower, const struct url *url, const struct zmap_options *options,
	struct containers **ret)
{
	struct containers *p = calloc(1, sizeof *p);
	if (!p) {
		zmap_close(lower);
		return err_set(-ENOMEM, "no memory for a store");
	}
	p->z.ops = &backend_container;
	p->z.caps = lower->caps | ZMAP_CHUNKS;
	p->z.timeout = options->timeout;
	p->lower = lower;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->entering, NULL);
	p->options = *options;
	int r = find_ref(url, options, &p->ref);
	if (r == 0)
		r = find_home(url, &p->home);
	if (r == 0 && !(p->name = url_name(url)))
		r = err_set(-ENOMEM, "no memory for a name");
	p->env = (struct container_env){.lower = lower,
		.home = p->home,
		.options = &p->options,
		.ref = p->ref,
		.named = p->ref};
	if (r == 0)
		r = sources_new(&p->options, &p->sources);
	if (r == 0 && sources_remote(p->sources))
		p->z.caps = (p->z.caps | ZMAP_REMOTE) & ~(unsigned)ZMAP_PROMPT;
	if (r < 0)
		container_close(&p->z);
	else
		*ret = p;
	return r;
}

static int
container_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	struct zmap_options below = *options;
	struct zmap *lower = NULL;
	struct containers *p = NULL;
	below.containers = false;
	int r = zmap_open_inner(url, &below, &lower);
	if (r == 0 && lower->ops == &backend_container) { /* all of it is one */
		*ret = lower;
		return 0;
	}
	if (r == 0)
		r = stand_before(lower, url, options, &p);
	if (r < 0)
		return r;
	if (p->ref) /* the user says what it is: nothing else is looked for */
		r = container_enter(&p->z, "", false);
	if (r >= 0) {
		*ret = &p->z;
		return 0;
	}
	container_close(&p->z);
	return err_add(r, "cannot open store '%s'", url->shown);
}

int
container_open_over(struct zmap *lower, const char *object, const struct url *url,
	const struct zmap_options *options, const struct container_ops *ops, struct zmap **ret)
{
	struct containers *p = NULL;
	struct container *c = NULL;
	int r = stand_before(lower, url, options, &p);
	if (r < 0)
		return r;
	struct container_env env = p->env;
	env.root = "";
	env.object = object;
	env.named = true;
	r = ops->open(&env, &c);
	if (r == ZMAP_ABSENT)
		r = err_set(-EINVAL, "'%s' is no %s", object, ops->name);
	if (r == 0)
		r = add_site(p, "", c);
	if (r < 0)
		container_close(&p->z);
	else
		*ret = &p->z;
	return r;
}

const struct zmap_ops backend_container = {
	.name = "container",
	.wraps = true,
	.open = container_open,
	.close = container_close,
	.stat = container_stat,
	.get = container_get,
	.submit = container_submit,
	.list = container_list,
	.put = container_put,
	.del = container_del,
	.sync = container_sync,
	.try_writing = container_try_writing,
	.enter = container_enter,
	.sign = container_sign,
	.history = container_history,
	.alive = container_alive,
	.stats = container_stats,
	.held = container_held,
};
