#include "store/zmap.h"

#include "base/err.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const verb[ZMAP_KINDS] = {
	[ZMAP_GET] = "read",
	[ZMAP_STAT] = "stat",
	[ZMAP_LISTING] = "list",
	[ZMAP_PUT] = "write",
	[ZMAP_DEL] = "delete",
};

/* A call under way. */
struct zmap_call {
	struct zmap *z;
	enum zmap_kind kind;
	const char *key;
	int64_t started; /* 0: it is not looked at */
};

static struct zmap_call
call_begin(struct zmap *z, enum zmap_kind kind, const char *key)
{
	assert(key);
	atomic_fetch_add_explicit(&z->counts.calls[kind], 1, memory_order_relaxed);
	bool traced = log_get_level() >= LOG_LEVEL_DEBUG;
	return (struct zmap_call){z, kind, key, traced ? clock_now() : 0};
}

static const char *
outcome(int r)
{
	switch (r) {
	case 0: return "ok";
	case ZMAP_ABSENT: return "absent";
	case ZMAP_SAME: return "same";
	case ZMAP_CHANGED: return "changed";
	case ZMAP_NOT_LOCAL: return "not here";
	default: return r < 0 ? err_text() : "ended";
	}
}

/* Counts, traces, and says which object a failure is about; wrappers leave that to the store behind
 * them. */
static int
call_end(const struct zmap_call *c, int r, size_t bytes)
{
	struct zmap_counts *n = &c->z->counts;
	if (r == ZMAP_NOT_LOCAL) /* it is asked for once more */
		atomic_fetch_sub_explicit(&n->calls[c->kind], 1, memory_order_relaxed);
	if (r == ZMAP_ABSENT)
		atomic_fetch_add_explicit(&n->absent[c->kind], 1, memory_order_relaxed);
	if (r < 0) {
		atomic_fetch_add_explicit(&n->failed[c->kind], 1, memory_order_relaxed);
		if (!c->z->ops->wraps)
			err_add(r, "cannot %s '%s'", verb[c->kind], c->key);
	}
	if (c->started)
		log_debug("%s: %s '%s': %s, %zu bytes, %" PRId64 " us", c->z->ops->name,
			verb[c->kind], c->key, outcome(r), bytes,
			(clock_now() - c->started) / 1000);
	return r;
}

int
zmap_check_key(const char *key)
{
	for (const char *p = key, *end;; p = end + 1) {
		end = strchrnul(p, '/');
		size_t n = (size_t)(end - p);
		if (!n)
			return err_set(-EINVAL, "'%s' is no key: empty part", key);
		if (p[0] == '.' && (n == 1 || (n == 2 && p[1] == '.')))
			return err_set(-EINVAL, "'%s' is no key: part '%.*s'", key, (int)n, p);
		if (!*end)
			return 0;
	}
}

int
zmap_patience(int64_t deadline, struct cancel *cancel)
{
	if (cancelled(cancel))
		return err_set(-EINTR, "no reader waits for it any more");
	if (clock_over(deadline))
		return err_set(-ETIMEDOUT, "no answer in time");
	return 0;
}

int
zmap_range(const struct zmap_get *g, uint64_t size, uint64_t *ret_off, size_t *ret_len)
{
	uint64_t off = g->off < size ? g->off : size;
	if (g->from_end)
		off = g->len && g->len < size ? size - g->len : 0;
	uint64_t len = size - off;
	if (g->len && g->len < len)
		len = g->len;
	if (len > g->max)
		return err_set(
			-EFBIG, "%" PRIu64 " bytes, where at most %zu can be right", len, g->max);
	*ret_off = off;
	*ret_len = (size_t)len;
	return 0;
}

int
zmap_condition(const struct zmap_get *g, const char *version)
{
	if (g->if_match && strcmp(g->if_match, version))
		return ZMAP_CHANGED;
	if (g->if_none_match && *version && !strcmp(g->if_none_match, version))
		return ZMAP_SAME;
	return 0;
}

struct zmap *
zmap_close(struct zmap *z)
{
	if (z)
		z->ops->close(z);
	return NULL;
}

int
zmap_stat(struct zmap *z, const char *key, struct zmap_stat *ret)
{
	return zmap_stat_while(z, key, NULL, ret);
}

int
zmap_stat_while(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	struct zmap_call c = call_begin(z, ZMAP_STAT, key);
	struct zmap_stat s = {0};
	int r = zmap_check_key(key);
	if (r == 0)
		r = zmap_patience(0, cancel);
	if (r == 0)
		r = z->ops->stat ? z->ops->stat(z, key, cancel, &s)
				 : err_set(-ENOSYS, "this store cannot say");
	if (r == 0)
		*ret = s;
	return call_end(&c, r, 0);
}

/* The request as the backend sees it. 0, or why it cannot even be asked. */
static int
prepare(struct zmap *z, const struct zmap_get *asked, struct zmap_get *ret)
{
	*ret = *asked;
	if (!ret->deadline && z->timeout)
		ret->deadline = clock_now() + z->timeout;
	int r = zmap_check_key(asked->key);
	if (r == 0)
		r = zmap_patience(ret->deadline, ret->cancel);
	if (r == 0 && !z->ops->get)
		r = err_set(-ENOSYS, "this store cannot read");
	return r;
}

/* before: into->len as it was. Whatever a backend did, nothing is added unless all is well. */
static int
get_end(const struct zmap_call *c, int r, const struct zmap_get *g, size_t before)
{
	size_t got = g->into->len - before;
	if (r == 0 && got > g->max)
		r = err_set(-EFBIG, "%zu bytes, where at most %zu can be right", got, g->max);
	if (r != 0)
		g->into->len = before;
	else
		atomic_fetch_add_explicit(&c->z->counts.bytes_in, got, memory_order_relaxed);
	return call_end(c, r, r == 0 ? got : 0);
}

int
zmap_get(struct zmap *z, const struct zmap_get *asked, struct zmap_stat *ret)
{
	struct zmap_call c = call_begin(z, ZMAP_GET, asked->key);
	struct zmap_get g;
	struct zmap_stat s = {0};
	size_t before = asked->into->len;
	int r = prepare(z, asked, &g);
	if (r == 0)
		r = z->ops->get(z, &g, &s);
	r = get_end(&c, r, &g, before);
	if (r >= 0 && r != ZMAP_ABSENT && ret)
		*ret = s;
	return r;
}

struct submitted {
	struct zmap_call call;
	struct zmap_get get;
	size_t before;
	zmap_done_fn *done;
	void *arg;
};

static void
submitted_done(void *arg, int r, const struct zmap_stat *s)
{
	struct submitted *u = arg;
	r = get_end(&u->call, r, &u->get, u->before);
	u->done(u->arg, r, s);
	free(u);
}

void
zmap_submit(struct zmap *z, const struct zmap_get *asked, zmap_done_fn *done, void *arg)
{
	struct zmap_stat s = {0};
	if (!z->ops->submit) {
		int r = zmap_get(z, asked, &s);
		done(arg, r, &s);
		return;
	}
	struct submitted *u = malloc(sizeof *u);
	if (!u) {
		done(arg, err_set(-ENOMEM, "no memory for a request"), &s);
		return;
	}
	u->call = call_begin(z, ZMAP_GET, asked->key);
	u->before = asked->into->len;
	u->done = done;
	u->arg = arg;
	int r = prepare(z, asked, &u->get);
	if (r < 0)
		submitted_done(u, r, &s);
	else
		z->ops->submit(z, &u->get, submitted_done, u);
}

struct zmap_listing {
	zmap_list_fn *fn;
	void *arg;
	size_t names;
	size_t bytes, max; /* what keeping them takes; 0: as many as there are */
};

/* Roughly, of each name: sorted, given to the kernel, and remembered as a place each. */
enum { NAME_COST = 128, NAME_COPIES = 3 };

/* Names that could not be part of a key are of no use: "a//b" in a bucket. */
static int
list_entry(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct zmap_listing *l = arg;
	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	l->names++;
	l->bytes += NAME_COST + NAME_COPIES * strlen(name);
	if (l->max && l->bytes > l->max)
		return -EFBIG; /* backends say what they like about that */
	return l->fn(l->arg, name, prefix, s);
}

static int
check_prefix(const char *prefix)
{
	size_t n = strlen(prefix);
	if (n == 0)
		return 0;
	if (prefix[n - 1] != '/')
		return err_set(-EINVAL, "'%s' is no prefix: no '/' at its end", prefix);
	char *key = strndup(prefix, n - 1);
	int r = key ? zmap_check_key(key) : err_set(-ENOMEM, "no memory for a key");
	free(key);
	return r;
}

int
zmap_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	struct zmap_call c = call_begin(z, ZMAP_LISTING, prefix);
	struct zmap_listing l = {.fn = fn, .arg = arg, .max = z->list_max};
	int r = check_prefix(prefix);
	if (r == 0)
		r = z->ops->list ? z->ops->list(z, prefix, list_entry, &l)
				 : err_set(-ENOSYS, "this store cannot list");
	if (l.max && l.bytes > l.max)
		r = err_set(-EFBIG,
			"a listing of more than %zu names (option memory says how many may be)",
			l.names - 1);
	return call_end(&c, r, l.names);
}

static int
check_write(struct zmap *z, const char *key)
{
	int r = zmap_check_key(key);
	if (r == 0 && !(z->caps & ZMAP_WRITE))
		r = err_set(-EROFS, "the store is open read-only");
	return r;
}

/* A version that the store did not say is no condition that could hold. */
static int
check_match(const char *if_match)
{
	return if_match && !*if_match ? err_set(-ENOTSUP, "its version is not known") : 0;
}

int
zmap_put(struct zmap *z, const struct zmap_put *asked, struct zmap_stat *ret)
{
	struct zmap_call c = call_begin(z, ZMAP_PUT, asked->key);
	struct zmap_put p = *asked;
	struct zmap_stat s = {0};
	assert(!(p.if_match && p.if_absent));
	p.put_off = p.deadline ? p.put_off : z->timeout; /* wrappers have filled it in */
	if (!p.deadline && z->timeout)
		p.deadline = clock_now() + z->timeout;
	int r = check_write(z, p.key);
	if (r == 0 && (p.if_match || p.if_absent) && !(z->caps & ZMAP_CONDITIONAL))
		r = err_set(-ENOTSUP, "this store cannot write on a condition");
	if (r == 0)
		r = check_match(p.if_match);
	if (r == 0)
		r = zmap_patience(p.deadline, p.cancel);
	if (r == 0)
		r = z->ops->put ? z->ops->put(z, &p, &s)
				: err_set(-EROFS, "this store cannot write");
	if (r == 0)
		atomic_fetch_add_explicit(&z->counts.bytes_out, p.bytes.len, memory_order_relaxed);
	if (r == 0 && ret)
		*ret = s;
	return call_end(&c, r, p.bytes.len);
}

int
zmap_del(struct zmap *z, const struct zmap_del *asked)
{
	struct zmap_call c = call_begin(z, ZMAP_DEL, asked->key);
	struct zmap_del d = *asked;
	if (!d.deadline && z->timeout)
		d.deadline = clock_now() + z->timeout;
	int r = check_write(z, d.key);
	if (r == 0 && d.if_match && !(z->caps & ZMAP_CONDITIONAL))
		r = err_set(-ENOTSUP, "this store cannot delete on a condition");
	if (r == 0)
		r = check_match(d.if_match);
	if (r == 0)
		r = zmap_patience(d.deadline, d.cancel);
	if (r == 0)
		r = z->ops->del ? z->ops->del(z, &d) : err_set(-EROFS, "this store cannot delete");
	return call_end(&c, r, 0);
}

int
zmap_try_writing(struct zmap *z, struct buf *said)
{
	if (z->ops->try_writing)
		return z->ops->try_writing(z, said);
	if (!z->ops->put || !(z->caps & ZMAP_WRITE))
		return err_set(-EROFS, "a store of the kind '%s' cannot be written", z->ops->name);
	return z->caps & ZMAP_CONDITIONAL ? 0 : zmap_say_unconditional(said, "by its kind");
}

int
zmap_say_unconditional(struct buf *said, const char *why)
{
	return buf_addf(said,
		"this store puts on no condition (%s): what several programs write into one chunk "
		"at "
		"the same time can be lost\n",
		why);
}

int
zmap_try_below(struct zmap *z, struct zmap *below, struct buf *said)
{
	int r = zmap_try_writing(below, said);
	if (!(below->caps & ZMAP_CONDITIONAL))
		z->caps &= ~(unsigned)ZMAP_CONDITIONAL;
	return r;
}

int
zmap_sync(struct zmap *z)
{
	return z->ops->sync ? z->ops->sync(z) : 0;
}

int
zmap_alive(struct zmap *z)
{
	return z->ops->alive ? z->ops->alive(z) : 0;
}

int
zmap_enter(struct zmap *z, const char *path, bool bare)
{
	int r = *path ? zmap_check_key(path) : 0;
	return r < 0 || !z->ops->enter ? r : z->ops->enter(z, path, bare);
}

bool
zmap_enter_sign(struct zmap *z, const char *name)
{
	return z->ops->sign && z->ops->sign(z, name);
}

int
zmap_history(struct zmap *z, struct buf *ret)
{
	return z->ops->history ? z->ops->history(z, ret) : ZMAP_ABSENT;
}

int
zmap_stats(struct zmap *z, struct buf *ret)
{
	return z->ops->stats ? z->ops->stats(z, ret) : 0;
}

size_t
zmap_held(struct zmap *z)
{
	return z->ops->held ? z->ops->held(z) : 0;
}
