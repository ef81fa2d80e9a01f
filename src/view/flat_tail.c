/* What lies behind the last row of a variable, in chunks that hold it: before it becomes a row it
 * must be fill. */
#include "base/check.h"
#include "model/parallel.h"
#include "view/flat.h"
#include "view/length.h"
#include "view/flats.h"
#include "view/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A piece of what is looked at. */
struct tail {
	struct flat *flat;
	const struct node *node;
	struct layout *layout;
	uint8_t *bytes; /* elements as they are stored */
	uint64_t off;   /* of the first */
	size_t len;
	struct cancel *cancel;
	bool *seen;  /* objects of a row that were looked at */
	bool behind; /* in objects behind the last one, which a writer may store long before the
			length */
	bool any;    /* something is to become fill */
};

enum { KEY = 1024 };

static bool
is_fill(const struct tail *t, size_t at)
{
	const struct array_meta *a = t->node->array;
	for (size_t i = 0; i < t->flat->item; i++) {
		uint8_t want = a->fill           ? a->fill[i]
			       : i < a->fill_len ? (uint8_t)a->fill_text[i]
						 : 0;
		if (t->bytes[at + i] != want)
			return false;
	}
	return true;
}

/* The key of the object that holds an element, without the array's path. False: it is too long. */
static bool
key_of(const struct array_meta *a, uint64_t element, char *ret, size_t size)
{
	uint64_t index[RANK_MAX];
	const uint64_t *unit = a->shard ? a->shard : a->chunk;
	bool c = a->key_form == 'c';
	int n = snprintf(ret, size, "%s", c ? "c" : "");
	for (unsigned d = a->rank; d-- > 0;) {
		index[d] = (d ? element % a->shape[d] : element) / unit[d];
		element /= d ? a->shape[d] : 1;
	}
	for (unsigned d = 0; d < a->rank && (size_t)n + 1 < size; d++) {
		if (d || c)
			ret[n++] = a->separator;
		n += snprintf(ret + n, size - (size_t)n, "%" PRIu64, index[d]);
	}
	return (size_t)n < size;
}

static bool
is_young(const struct tail *t, const struct zmap_stat *st)
{
	return length_may_come(t->node, st->mtime, t->behind);
}

/* Of the object that holds the element. False: it is too long. */
static bool
object_of(const struct tail *t, uint64_t element, char *ret)
{
	char part[512];
	const char *path = t->node->path;
	return key_of(t->node->array, element, part, sizeof part) &&
	       snprintf(ret, KEY, "%s%s%s", path, *path ? "/" : "", part) < KEY;
}

void
flat_fill_value(const struct array_meta *meta, size_t item, uint8_t *to)
{
	if (meta->fill)
		memcpy(to, meta->fill, item);
	else if (meta->fill_text)
		memcpy(to, meta->fill_text, min_u64(meta->fill_len, item));
}

/* Rows of an object: of a shard, or of a chunk. The array has a first dimension. */
static uint64_t
rows_of_object(const struct array_meta *a)
{
	return a->shard ? a->shard[0] : a->chunk[0];
}

/* Objects that hold one row, and the first element of each. */
static uint64_t
objects_of_row(const struct array_meta *a)
{
	const uint64_t *unit = a->shard ? a->shard : a->chunk;
	uint64_t n = 1;
	for (unsigned d = 1; d < a->rank; d++)
		n *= ceil_div(a->shape[d], unit[d]);
	return n;
}

static uint64_t
first_element(const struct array_meta *a, uint64_t row, uint64_t object)
{
	const uint64_t *unit = a->shard ? a->shard : a->chunk;
	uint64_t element = 0, stride = 1;
	for (unsigned d = a->rank; d-- > 1;) {
		uint64_t n = ceil_div(a->shape[d], unit[d]);
		element += object % n * unit[d] * stride;
		object /= n;
		stride *= a->shape[d];
	}
	return element + row * stride;
}

/* Which of the objects of a row holds the element. */
static uint64_t
object_in_row(const struct array_meta *a, uint64_t element)
{
	const uint64_t *unit = a->shard ? a->shard : a->chunk;
	uint64_t object = 0, stride = 1;
	for (unsigned d = a->rank; d-- > 1;) {
		object += element % a->shape[d] / unit[d] * stride;
		stride *= ceil_div(a->shape[d], unit[d]);
		element /= a->shape[d];
	}
	return object;
}

/* The object that holds the element, which is no fill. Where it is another writer's nothing
 * happens; and what has come there by the time that it is stored is looked at once more. */
static int
clear_object(struct tail *t, uint64_t element)
{
	struct zmap_stat st = {0};
	char key[KEY];
	int r = object_of(t, element, key)
			? zmap_stat_while(t->flat->mount->zmap, key, t->cancel, &st)
			: ZMAP_ABSENT;
	if (r < 0 || (r == 0 && is_young(t, &st)))
		return r;
	t->any = true;
	return array_clear_left(flat_variable(t->layout)->array, element);
}

/* Elements that are no fill. What waits there is another file's. */
static int
clear_piece(struct tail *t)
{
	const size_t item = t->flat->item;
	const struct array *a = flat_variable(t->layout)->array;
	int r = 0;
	if (is_fill(t, 0) && span_repeats((struct span){t->bytes, t->len}, t->bytes, item))
		return 0;
	for (size_t at = 0; at < t->len && r == 0; at += item) {
		const uint64_t element = (t->off + at) / item,
			       object = object_in_row(t->node->array, element);
		if (t->seen[object] || is_fill(t, at) || array_touched(a, t->off + at, item))
			continue;
		t->seen[object] = true;
		r = clear_object(t, element);
	}
	return r;
}

/* Of bytes [from, to), which lie in the last chunks. */
static int
clear_last(struct tail *t, uint64_t from, uint64_t to)
{
	enum { PIECE = 1 << 20 };
	uint64_t step = max_u64(PIECE / t->flat->item, 1) * t->flat->item;
	struct stream *s = NULL;
	if (from >= to)
		return 0;
	int r = stream_new(flat_variable(t->layout)->array, &s);
	t->bytes = malloc(min_u64(step, to - from));
	t->seen = calloc(objects_of_row(t->node->array), sizeof *t->seen);
	if (r == 0 && (!t->bytes || !t->seen))
		r = err_set(-ENOMEM, "no memory for a row");
	for (; r == 0 && from < to; from += t->len) {
		struct reply reply = {0};
		t->off = from;
		t->len = min_u64(step, to - from);
		struct array_want want = {.off = from,
			.len = t->len,
			.deadline = clock_now() + t->flat->mount->options.data.timeout,
			.cancel = t->cancel};
		r = stream_read(s, &want, &reply);
		if (r == 0)
			reply_copy(&reply, t->bytes);
		reply_done(&reply);
		if (r == 0)
			r = clear_piece(t);
	}
	stream_free(s);
	free(t->bytes);
	free(t->seen);
	return r;
}

/* Leading indices of objects behind the end, and which of these are old. */
struct behind {
	const struct tail *tail;
	const uint64_t *index;
	size_t n;
	uint64_t unit, per; /* rows of an object; objects of a row */
	bool *old;          /* per of each index: the object has lain there for long */
	pthread_mutex_t lock;
	struct err err;
};

static uint64_t
element_behind(const struct behind *b, size_t i)
{
	return first_element(b->tail->node->array, b->index[i / b->per] * b->unit, i % b->per);
}

static void
look_at(void *arg, size_t i)
{
	struct behind *b = arg;
	const struct tail *t = b->tail;
	struct zmap_stat st = {0};
	char key[KEY];
	if (!object_of(t, element_behind(b, i), key))
		return;
	const struct mount *m = t->flat->mount;
	int r = zmap_stat_while(m->zmap, key, t->cancel, &st);
	if (r == -EACCES && (m->options.data.missing_403 || m->zmap->caps & ZMAP_REMOTE))
		return; /* so a bucket that may not be listed says that there is none */
	b->old[i] = r == 0 && !is_young(t, &st);
	if (r < 0)
		LOCKED(&b->lock)
			err_save(r, &b->err);
}

/* The old ones become fill. */
static int
clear_behind(struct tail *t, const struct behind *b)
{
	int r = 0;
	for (size_t i = 0; i < b->n * b->per && r == 0; i++) {
		if (!b->old[i])
			continue;
		t->any = true;
		r = array_clear_left(flat_variable(t->layout)->array, element_behind(b, i));
	}
	return r;
}

static int
look_and_clear(struct tail *t, const struct buf *index)
{
	struct behind b = {.tail = t,
		.index = (const uint64_t *)(const void *)index->data,
		.n = index->len / sizeof *b.index,
		.unit = rows_of_object(t->node->array),
		.per = objects_of_row(t->node->array)};
	if (!b.n)
		return 0;
	b.old = calloc(b.n * b.per, sizeof *b.old);
	if (!b.old)
		return err_set(-ENOMEM, "no memory for what lies behind the end");
	pthread_mutex_init(&b.lock, NULL);
	in_parallel(b.n * b.per, t->flat->mount->zmap->caps & ZMAP_REMOTE, look_at, &b);
	pthread_mutex_destroy(&b.lock);
	int r = b.err.code ? err_restore(&b.err) : clear_behind(t, &b);
	free(b.old);
	return r;
}

/* The leading indices of objects that may be there; none where that is not known. */
static int
find_behind(const struct tail *t, uint64_t first, uint64_t end, struct buf *ret)
{
	enum { LOOKED_AT = 1 << 16 };
	struct array *a = flat_variable(t->layout)->array;
	int r = array_find_objects(a, first, end, LOOKED_AT, t->cancel, ret);
	return array_may_not_list(r) ? 0 : r;
}

/* Of rows in whole chunks behind the last ones, where objects have lain for long. */
static int
clear_old(struct tail *t, uint64_t from, uint64_t to, uint64_t unit)
{
	const uint64_t row = t->flat->row;
	CLEAN(buf_free) struct buf index = {0};
	if (from >= to)
		return 0;
	t->behind = true;
	int r = find_behind(t, from / row / unit, ceil_div(to, row * unit), &index);
	return r < 0 ? r : look_and_clear(t, &index);
}

int
flat_clear(struct flat *w, uint64_t from, uint64_t to, struct cancel *cancel, struct layout **ret)
{
	CLEAN(node_unrefp) struct node *n = flat_node(w);
	CLEAN(layout_unrefp) struct layout *l = NULL;
	const struct array_meta *a = n->array;
	const uint64_t row = w->row;
	if (from >= to || !row || !a->rank)
		return 0;
	const uint64_t unit = rows_of_object(a), rows = ceil_div(to, row);
	int r = flat_lay_out_grown(w->mount, n, w->width, round_up(rows, unit), &l);
	if (r < 0)
		return r;
	struct tail t = {.flat = w, .node = n, .layout = l, .cancel = cancel};
	const uint64_t end = min_u64(to, min_u64(round_up(a->shape[0], a->chunk[0]), rows) * row);
	r = clear_last(&t, from, end);
	if (r == 0)
		r = clear_old(&t, max_u64(from, end), to, unit);
	if (r == 0 && t.any) /* at once: others may write these rows from now on */
		r = array_flush(flat_variable(l)->array, cancel);
	if (r == 0 && ret)
		*ret = MOVE(l);
	return r;
}

int
flat_clear_tail(struct flat *w, uint64_t rows, struct cancel *cancel)
{
	CLEAN(layout_unrefp) struct layout *l = NULL;
	uint64_t from = 0;
	flat_take(w, &w->growing); /* a writer there has put fill before it, or will */
	LOCKED(&w->lock)
		from = max_u64(
			(w->node->array->rank ? w->node->array->shape[0] : rows) * w->row, w->size);
	int r = flat_clear(w, round_up(from, w->item), rows * w->row, cancel, &l);
	flat_give(w, &w->growing);
	return r < 0 || !l ? r : array_flush(flat_variable(l)->array, cancel);
}
