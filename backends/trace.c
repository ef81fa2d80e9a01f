/* trace+STORE: one line on stderr for each call, its fields between tabs:
 *
 *   trace: KIND KEY RANGE OUTCOME BYTES MILLISECONDS
 *
 * RANGE is OFF+LEN, OFF+ (to the end), -LEN (from the end), or - where there is none. Control
 * characters in a key are shown as '?'. */
#include "store/zmap.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct trace {
	struct zmap z;
	struct zmap *next;
};

struct trace_line {
	const char *kind, *key, *range;
	int64_t started;
};

static struct zmap *
next(struct zmap *z)
{
	return ((struct trace *)z)->next;
}

static int
say(const struct trace_line *l, int r, size_t bytes)
{
	char key[512], code[32];
	static const char *const outcome[] = {"ok", "absent", "same", "changed"};
	snprintf(key, sizeof key, "%s", l->key);
	for (char *p = key; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '?';
	snprintf(code, sizeof code, "%s",
		r < 0   ? strerrorname_np(-r)
		: r < 4 ? outcome[r]
			: "ended");
	fprintf(stderr, "trace: %s\t%s\t%s\t%s\t%zu\t%.3f\n", l->kind, key, l->range, code, bytes,
		(double)(clock_now() - l->started) / 1e6);
	return r;
}

static int
trace_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	char range[64] = "-";
	if (g->from_end)
		snprintf(range, sizeof range, "-%zu", g->len);
	else if (g->len)
		snprintf(range, sizeof range, "%" PRIu64 "+%zu", g->off, g->len);
	else if (g->off)
		snprintf(range, sizeof range, "%" PRIu64 "+", g->off);
	struct trace_line l = {"get", g->key, range, clock_now()};
	size_t before = g->into->len;
	int r = zmap_get(next(z), g, ret);
	return say(&l, r, g->into->len - before);
}

static int
trace_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	struct trace_line l = {"stat", key, "-", clock_now()};
	return say(&l, zmap_stat_while(next(z), key, cancel, ret), 0);
}

static int
trace_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	struct trace_line l = {"list", prefix, "-", clock_now()};
	return say(&l, zmap_list(next(z), prefix, fn, arg), 0);
}

static int
trace_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	struct trace_line l = {"put", p->key, "-", clock_now()};
	return say(&l, zmap_put(next(z), p, ret), p->bytes.len);
}

static int
trace_del(struct zmap *z, const struct zmap_del *d)
{
	struct trace_line l = {"del", d->key, "-", clock_now()};
	return say(&l, zmap_del(next(z), d), 0);
}

static int
trace_sync(struct zmap *z)
{
	struct trace_line l = {"sync", "", "-", clock_now()};
	return say(&l, zmap_sync(next(z)), 0);
}

static int
trace_try_writing(struct zmap *z, struct buf *said)
{
	return zmap_try_below(z, next(z), said);
}

static int
trace_alive(struct zmap *z)
{
	return zmap_alive(next(z));
}

static int
trace_stats(struct zmap *z, struct buf *ret)
{
	return zmap_stats(next(z), ret);
}

static void
trace_close(struct zmap *z)
{
	zmap_close(next(z));
	free(z);
}

extern const struct zmap_ops backend_trace;

static int
trace_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	struct trace *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(-ENOMEM, "no memory for a store");
	int r = zmap_open_inner(url, options, &t->next);
	if (r < 0) {
		free(t);
		return r;
	}
	t->z.ops = &backend_trace;
	t->z.caps = t->next->caps & ~(unsigned)ZMAP_LOCAL_COPIES;
	*ret = &t->z;
	return 0;
}

const struct zmap_ops backend_trace = {
	.name = "trace",
	.wraps = true,
	.open = trace_open,
	.close = trace_close,
	.stat = trace_stat,
	.get = trace_get,
	.list = trace_list,
	.put = trace_put,
	.del = trace_del,
	.sync = trace_sync,
	.try_writing = trace_try_writing,
	.alive = trace_alive,
	.stats = trace_stats,
};
