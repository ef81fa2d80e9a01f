#include "data/request.h"

enum {
	BATCH_BYTES = 256 << 10,
};

void
batch_send(struct batch *b)
{
	if (b->n)
		load_start(b->array, b->first, b->urgent);
	b->n = 0;
	b->bytes = 0;
}

void
batch_add(struct batch *b, struct piece *p, enum keep keep)
{
	if (!b->n)
		b->last = &b->first;
	p->keep = keep;
	p->ahead = !b->urgent;
	*b->last = p;
	b->last = &p->batch;
	b->n++;
	b->bytes += p->id.len;
	/* Requests to a remote store are to be under way together. */
	if (b->alone || b->array->remote || b->bytes >= BATCH_BYTES || b->n >= LOAD_BATCH)
		batch_send(b);
}
