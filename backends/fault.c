/* fault+STORE: a store that fails as told by the fragment, for tests of everything above it.
 *
 *   fault.kind=   eio, eacces, enospc   the call fails
 *                 absent        the key is not there
 *                 delay         the call takes fault.ms longer
 *                 hang          it never answers: -ETIMEDOUT or -EINTR when the caller's patience
 *                               ends
 *                 truncate      half of the bytes are missing
 *                 corrupt       one byte in the middle is wrong
 *   fault.calls=  which calls, a comma list of get stat list put del sync (get); truncate and
 *                 corrupt are for get alone
 *   fault.match=  only keys that contain this text
 *   fault.after=  only after so many calls that the words above mean
 *   fault.nth=    only the n-th of what is left then; fault.every= only each n-th
 *   fault.file=   only while this file exists, so that a running mount can be broken and healed;
 *                 a hang or delay ends with it as well. Calls made without it are not counted.
 *   fault.ms=     milliseconds, for delay
 *   fault.late=1  put, del and sync are done first, and fail then: the answer is lost
 *   fault.deaf=1  hang looks at neither deadline nor cancellation
 *   fault.remote=1 the store counts as a remote one, where each request costs a round trip
 *
 * Without fault.kind nothing happens. */
#include "store/zmap.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum fault_kind { NOTHING, EIO_, EACCES_, ENOSPC_, ABSENT, DELAY, HANG, TRUNCATE, CORRUPT, KINDS };
enum { POLL_US = 5000 };

static const char *const kind_name[KINDS] = {
	[NOTHING] = "none",
	[EIO_] = "eio",
	[EACCES_] = "eacces",
	[ENOSPC_] = "enospc",
	[ABSENT] = "absent",
	[DELAY] = "delay",
	[HANG] = "hang",
	[TRUNCATE] = "truncate",
	[CORRUPT] = "corrupt",
};

enum { SYNC = ZMAP_KINDS, CALLS };

static const char *const call_name[CALLS] = {
	[ZMAP_GET] = "get",
	[ZMAP_STAT] = "stat",
	[ZMAP_LISTING] = "list",
	[ZMAP_PUT] = "put",
	[ZMAP_DEL] = "del",
	[SYNC] = "sync",
};

struct fault {
	struct zmap z;
	struct zmap *next;
	unsigned kind, calls; /* calls: bits of 1 << enum zmap_kind, or SYNC */
	char *match, *file;   /* NULL: any key; always */
	unsigned long after, nth, every, ms, deaf, late, remote;
	atomic_ulong seen;
};

static bool
switched_on(const struct fault *f)
{
	return !f->file || access(f->file, F_OK) == 0;
}

static bool
due(struct fault *f, unsigned call, const char *key)
{
	if (!f->kind || !(f->calls & 1u << call) || (f->match && !strstr(key, f->match)) ||
		!switched_on(f))
		return false;
	unsigned long n = atomic_fetch_add(&f->seen, 1) + 1;
	if (n <= f->after)
		return false;
	n -= f->after;
	return f->nth ? n == f->nth : !f->every || n % f->every == 0;
}

/* For ms, or for ever (0). */
static int
wait_for(struct fault *f, unsigned long ms, int64_t deadline, struct cancel *cancel)
{
	int64_t end = ms ? clock_now() + (int64_t)ms * 1000000 : 0;
	while (!clock_over(end) && switched_on(f)) {
		int r = f->deaf ? 0 : zmap_patience(deadline, cancel);
		if (r < 0)
			return r;
		usleep(POLL_US);
	}
	return 0;
}

/* 0: go on to the store; else the call's result, which names the key as the store's own failures
 * do. */
static int
strike(struct fault *f, const char *key, int64_t deadline, struct cancel *cancel)
{
	switch (f->kind) {
	case EIO_: return err_set(-EIO, "'%s': injected fault", key);
	case EACCES_: return err_set(-EACCES, "'%s': injected fault", key);
	case ENOSPC_: return err_set(-ENOSPC, "'%s': injected fault", key);
	case ABSENT: return ZMAP_ABSENT;
	case DELAY: return wait_for(f, f->ms, deadline, cancel);
	case HANG: return wait_for(f, 0, deadline, cancel);
	default: return 0;
	}
}

/* For calls that carry no deadline of their own. */
static int
strike_plain(struct zmap *z, unsigned call, const char *key, struct cancel *cancel)
{
	struct fault *f = (struct fault *)z;
	const int64_t deadline = z->timeout ? clock_now() + z->timeout : 0;
	return due(f, call, key) ? strike(f, key, deadline, cancel) : 0;
}

static int
fault_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct fault *f = (struct fault *)z;
	size_t before = g->into->len;
	bool now = due(f, ZMAP_GET, g->key);
	int r = now ? strike(f, g->key, g->deadline, g->cancel) : 0;
	if (r == 0)
		r = zmap_get(f->next, g, ret);
	size_t got = g->into->len - before;
	if (r || !now || !got)
		return r;
	if (f->kind == CORRUPT)
		g->into->data[before + got / 2] ^= 0x55;
	if (f->kind == TRUNCATE) {
		if (ret->size == got)
			ret->size = got / 2;
		g->into->len = before + got / 2;
	}
	return 0;
}

static int
fault_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	int r = strike_plain(z, ZMAP_STAT, key, cancel);
	return r ? r : zmap_stat_while(((struct fault *)z)->next, key, cancel, ret);
}

static int
fault_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	int r = strike_plain(z, ZMAP_LISTING, prefix, NULL);
	return r ? r : zmap_list(((struct fault *)z)->next, prefix, fn, arg);
}

static int
fault_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	struct fault *f = (struct fault *)z;
	bool now = due(f, ZMAP_PUT, p->key);
	int r = now && !f->late ? strike(f, p->key, p->deadline, p->cancel) : 0;
	if (r == 0)
		r = zmap_put(f->next, p, ret);
	return r == 0 && now && f->late ? strike(f, p->key, p->deadline, p->cancel) : r;
}

static int
fault_del(struct zmap *z, const struct zmap_del *d)
{
	struct fault *f = (struct fault *)z;
	bool now = due(f, ZMAP_DEL, d->key);
	int r = now && !f->late ? strike(f, d->key, d->deadline, d->cancel) : 0;
	if (r == 0)
		r = zmap_del(f->next, d);
	return r == 0 && now && f->late ? strike(f, d->key, d->deadline, d->cancel) : r;
}

static int
fault_sync(struct zmap *z)
{
	struct fault *f = (struct fault *)z;
	int r = f->late ? 0 : strike_plain(z, SYNC, "", NULL);
	if (r == 0)
		r = zmap_sync(f->next);
	return r == 0 && f->late ? strike_plain(z, SYNC, "", NULL) : r;
}

static int
fault_try_writing(struct zmap *z, struct buf *said)
{
	return zmap_try_below(z, ((struct fault *)z)->next, said);
}

static int
fault_alive(struct zmap *z)
{
	return zmap_alive(((struct fault *)z)->next);
}

static int
fault_stats(struct zmap *z, struct buf *ret)
{
	return zmap_stats(((struct fault *)z)->next, ret);
}

static void
fault_close(struct zmap *z)
{
	struct fault *f = (struct fault *)z;
	zmap_close(f->next);
	free(f->match);
	free(f->file);
	free(f);
}

/* Which of the names the first len bytes of word are; n if none. */
static unsigned
name_of(const char *const *name, unsigned n, const char *word, size_t len)
{
	unsigned i = 0;
	while (i < n && (strlen(name[i]) != len || memcmp(name[i], word, len)))
		i++;
	return i;
}

static int
set_calls(struct fault *f, const char *value)
{
	f->calls = 0;
	for (const char *p = value, *end;; p = end + 1) {
		end = strchrnul(p, ',');
		unsigned call = name_of(call_name, CALLS, p, (size_t)(end - p));
		if (call == CALLS)
			return err_set(-EINVAL, "fault.calls=%s: unknown call", value);
		f->calls |= 1u << call;
		if (!*end)
			return 0;
	}
}

static int
set_text(char **to, const char *value)
{
	free(*to);
	*to = strdup(value);
	return *to ? 0 : err_set(-ENOMEM, "no memory for an option");
}

static int
set_number(struct fault *f, const char *key, const char *value)
{
	const struct {
		const char *key;
		unsigned long *to;
	} number[] = {
		{"after", &f->after},
		{"nth", &f->nth},
		{"every", &f->every},
		{"ms", &f->ms},
		{"deaf", &f->deaf},
		{"late", &f->late},
		{"remote", &f->remote},
	};
	for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
		if (strcmp(key, number[i].key))
			continue;
		char *end;
		errno = 0;
		*number[i].to = strtoul(value, &end, 10);
		if (errno || *end || !*value || *value == '-')
			return err_set(-EINVAL, "fault.%s=%s: not a number", key, value);
		return 0;
	}
	return err_set(-EINVAL, "unknown option 'fault.%s'", key);
}

static int
set_option(struct fault *f, const char *key, const char *value)
{
	if (!strcmp(key, "kind")) {
		f->kind = name_of(kind_name, KINDS, value, strlen(value));
		return f->kind < KINDS ? 0 : err_set(-EINVAL, "fault.kind=%s: unknown kind", value);
	}
	if (!strcmp(key, "calls"))
		return set_calls(f, value);
	if (!strcmp(key, "match"))
		return set_text(&f->match, value);
	if (!strcmp(key, "file"))
		return set_text(&f->file, value);
	return set_number(f, key, value);
}

extern const struct zmap_ops backend_fault;

static int
fault_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	struct fault *f = calloc(1, sizeof *f);
	if (!f)
		return err_set(-ENOMEM, "no memory for a store");
	f->calls = 1u << ZMAP_GET;
	int r = 0;
	for (size_t i = 0; i < url->npairs && r == 0; i++) {
		const struct url_pair *p = &url->pair[i];
		if (!strncmp(p->key, "fault.", 6))
			r = set_option(f, p->key + 6, p->value ? p->value : "");
	}
	if (r == 0)
		r = zmap_open_inner(url, options, &f->next);
	if (r < 0) {
		fault_close(&f->z);
		return r;
	}
	f->z.ops = &backend_fault;
	f->z.caps = (f->next->caps & ~(unsigned)(ZMAP_LOCAL_COPIES | ZMAP_PROMPT)) |
		    (f->remote ? ZMAP_REMOTE : 0);
	*ret = &f->z;
	return 0;
}

const struct zmap_ops backend_fault = {
	.name = "fault",
	.wraps = true,
	.open = fault_open,
	.close = fault_close,
	.stat = fault_stat,
	.get = fault_get,
	.list = fault_list,
	.put = fault_put,
	.del = fault_del,
	.sync = fault_sync,
	.try_writing = fault_try_writing,
	.alive = fault_alive,
	.stats = fault_stats,
};
