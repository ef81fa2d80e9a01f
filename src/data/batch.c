#include "data/request.h"

enum {
	BATCH_BYTES = 256 << 10,
	ALONE_BYTES = 2 << 10, /* less is not worth a worker of its own */
};

static struct extent *
take(struct batch *b, unsigned i)
{
	struct extent *first = b->task[i].first;
	b->tasks--;
	for (; i < b->tasks; i++)
		b->task[i] = b->task[i + 1];
	return first;
}

static void
send(struct batch *b, unsigned i)
{
	struct extent *first = take(b, i);
	if (b->locked)
		load_queue(b->array, first);
	else
		load_start(b->array, first, b->urgent);
	b->sent = true;
}

void
batch_send(struct batch *b)
{
	while (b->tasks)
		send(b, 0);
}

void
batch_end(struct batch *b, int r)
{
	while (b->tasks > 1)
		send(b, 0);
	if (r < 0 || !b->here || !b->tasks)
		batch_send(b);
	else
		load_here(b->array, take(b, 0));
}

/* Requests to a slow store are to be under way together, but for those that one request may answer:
 * which these are, a shard's index tells. */
static bool
is_full(const struct batch *b, const struct batch_task *t)
{
	const struct array *a = b->array;
	if (!t->n)
		return false;
	if (t->n >= LOAD_BATCH)
		return true;
	if (array_slow(a))
		return !a->shard;
	if (b->alone)
		return a->shard || t->bytes >= ALONE_BYTES;
	return t->bytes >= BATCH_BYTES;
}

/* The task that an extent belongs to: that of its shard, where it is in one. */
static unsigned
task_of(struct batch *b, const struct extent *p)
{
	unsigned i = 0;
	while (i < b->tasks && b->array->shard && b->task[i].first->id.object != p->id.object)
		i++;
	if (i < b->tasks && is_full(b, &b->task[i])) {
		send(b, i);
		i = b->tasks;
	}
	if (i == BATCH_TASKS) {
		send(b, 0);
		i = b->tasks;
	}
	if (i == b->tasks)
		b->task[b->tasks++] = (struct batch_task){.first = NULL};
	return i;
}

void
batch_add(struct batch *b, struct extent *p, enum keep keep)
{
	unsigned i = task_of(b, p);
	struct batch_task *t = &b->task[i];
	p->keep = keep;
	p->ahead = !b->urgent;
	*(t->n ? t->last : &t->first) = p;
	t->last = &p->batch;
	t->n++;
	t->bytes += p->id.len;
	if (!b->here && is_full(b, t))
		send(b, i);
}
