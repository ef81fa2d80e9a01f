/* Are the metadata of an array still those that say how to read this chunk? */
#include "data/load_impl.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static int
check_metadata(const struct array *a)
{
	const struct array_hooks *h = &a->hooks;
	return h->check ? h->check(h->arg) : 0;
}

int
load_check_since(const struct array *a, int64_t since)
{
	const struct array_hooks *h = &a->hooks;
	if (!h->seen || h->seen(h->arg, 0) >= since)
		return 0;
	bool remote = a->remote;
	if (remote)
		pool_blocking();
	int r = h->seen(h->arg, since) >= since ? 0 : check_metadata(a);
	if (remote)
		pool_unblocking();
	return r;
}

static void
look(struct task *t)
{
	struct array *a = (struct array *)(void *)((char *)t - offsetof(struct array, look));
	load_check_since(a, clock_wall() - SECOND); /* unless an open() has looked meanwhile */
	atomic_store(&a->looking, false);
	array_unref(a);
}

/* clock_wall(): when the metadata are to have been looked at for what has come now, at the
 * earliest; 0: as the store's answer says. */
static int64_t
wanted(const struct load *l)
{
	const struct array *a = l->array;
	return a->exchanged && a->hooks.seen && !l->stat.kept ? clock_wall() - SECOND : 0;
}

void
load_check_begin(struct load *l)
{
	struct array *a = l->array;
	const struct array_hooks *h = &a->hooks;
	int64_t since = wanted(l);
	if (!since || h->seen(h->arg, 0) >= since || atomic_exchange(&a->looking, true))
		return;
	a->look.run = look;
	array_ref(a);
	pool_push(a->data->pool, &a->look, true);
}

/* The chunk is another one, but was made before the former was last found there: another store has
 * come to be at this place, with files as old as they like. A local store sees that itself. */
static bool
is_exchanged(const struct load *l, int64_t placed)
{
	const struct extent *prev = l->extent->prev;
	if (!l->array->remote || !prev || !*prev->version ||
		!strcmp(prev->version, l->stat.version))
		return false;
	return placed < clock_wall() - (clock_now() - prev->checked);
}

/* A chunk newer than what we know of its array, or absent, makes us look at the metadata again: the
 * array may have been rewritten or the store emptied. */
int
load_check_found(struct load *l)
{
	int64_t placed = l->stat.placed ? l->stat.placed : l->stat.mtime + SECOND;
	if (is_exchanged(l, placed))
		placed = clock_wall() - (clock_now() - l->extent->begun);
	int64_t since = wanted(l);
	if (placed < since)
		placed = since;
	return l->array->hooks.seen && (l->stat.mtime || since)
		       ? load_check_since(l->array, placed + 1)
		       : 0;
}

/* The fill value must be what elements can be. */
int
load_check_fill(const struct array *a)
{
	if (a->fill_error)
		return err_set(-EIO, "absent, and %s", a->fill_error);
	if (a->fill_long)
		return err_set(-EIO,
			"absent, and the fill value of %zu bytes is longer than the width %u",
			a->fill_long, a->dtype.size);
	if (a->fill_nul)
		return err_set(
			-EIO, "absent, and the fill value ends in NUL, which padding would hide");
	return 0;
}

int
load_check_absent(struct load *l)
{
	int64_t ttl = l->array->data->options.ttl;
	if (!l->array->remote || !l->array->hooks.seen)
		return check_metadata(l->array);
	if (ttl == INT64_MAX)
		return 0;
	int64_t since = wanted(l);
	return load_check_since(l->array, since ? since : clock_wall() - ttl + 1);
}
