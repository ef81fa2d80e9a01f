/* The extent that a load fills: its memory, its bytes, its version, and the task that fills it. */
#include "data/load_impl.h"

#include "base/pool.h"

int
load_room(struct load *l, struct buf *out)
{
	return buf_reserve(out, l->extent->id.len);
}

/* Some writers store other bytes than 1 for true. */
static void
make_booleans(uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[i] = data[i] != 0;
}

void
load_hand_over(struct load *l, struct buf *out)
{
	if (l->array->dtype.kind == DTYPE_BOOL)
		make_booleans(out->data, l->extent->id.len);
	l->extent->cap = out->cap;
	l->extent->data = MOVE(out->data);
	*out = (struct buf){0};
}

void
load_found(struct load *l, struct extent *p)
{
	struct cache *c = l->array->data->cache;
	const struct array_hooks *h = &l->array->hooks;
	if (cache_put_unsure(c, p)) {
		pool_blocking();
		cache_put_wait(c, p, l->deadline);
		pool_unblocking();
	}
	const uint64_t changes = cache_found(c, p);
	if (changes && h->changed)
		h->changed(h->arg, l->stat.mtime);
	if (changes)
		cache_told(c, p, changes);
}

void
load_tell(struct extent *p, struct task *t)
{
	for (; p; p = p->batch)
		atomic_store_explicit(&p->told, t, memory_order_relaxed);
}

void
load_apart(struct load *l, struct extent *first)
{
	struct task *t = &first->task;
	first->owner = array_ref(l->array);
	t->run = l->extent->task.run;
	load_tell(first, t);
	pool_push(l->array->data->pool, t, !atomic_load(&first->ahead));
}
