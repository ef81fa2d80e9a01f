#include "view/text/cdl.h"

#include "base/clock.h"
#include "base/hash.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

struct cdl_text {
	unsigned refs; /* under the table's lock */
	char *path;
	uint64_t moment; /* which metadata it is of */
	int64_t born;    /* clock_now() */
	struct buf text;
	uint64_t version;
	int64_t mtime;
};

/* Longer texts are made again each time. */
enum { KEPT_MAX = 8 << 20 };

void
cdl_texts_init(struct cdl_texts *t)
{
	pthread_mutex_init(&t->lock, NULL);
}

static void
text_free(struct cdl_text *t)
{
	buf_free(&t->text);
	free(t->path);
	free(t);
}

static void
release(struct mount *m, struct cdl_text *t)
{
	bool last = false;
	LOCKED(&m->cdl.lock)
		last = --t->refs == 0;
	if (last)
		text_free(t);
}

void
cdl_texts_free(struct cdl_texts *t)
{
	for (unsigned i = 0; i < CDL_TEXTS; i++)
		if (t->slot[i])
			text_free(t->slot[i]);
	pthread_mutex_destroy(&t->lock);
}

static struct cdl_text **
slot_of(struct cdl_texts *t, const char *path)
{
	return &t->slot[hash_end(hash_text(HASH_START, path)) % CDL_TEXTS];
}

static struct cdl_text *
recall(struct mount *m, const char *path, uint64_t moment)
{
	struct cdl_text *t = NULL;
	LOCKED(&m->cdl.lock) {
		t = *slot_of(&m->cdl, path);
		bool good = t && t->moment == moment && strcmp(t->path, path) == 0 &&
			    clock_now() - t->born < m->pages_ttl;
		t = good ? t : NULL;
		if (t)
			t->refs++;
	}
	return t;
}

static void
remember(struct mount *m, struct cdl_text *t)
{
	struct cdl_text *old = NULL;
	if (t->text.len > KEPT_MAX)
		return;
	LOCKED(&m->cdl.lock) {
		struct cdl_text **slot = slot_of(&m->cdl, t->path);
		old = *slot;
		*slot = t;
		t->refs++;
	}
	if (old)
		release(m, old);
}

/* *ret: a reference, for release(). */
static int
get(struct mount *m, const struct node *n, struct cdl_text **ret)
{
	uint64_t reading = n->kind == NODE_GROUP ? model_consolidated(m->model, n->path) : 0;
	uint64_t moment = hash_number(hash_number(HASH_START, reading), atomic_load(&m->changes));
	moment = hash_number(moment, model_renamed(m->model));
	struct cdl_text *t = recall(m, n->path, moment);
	if (t) {
		*ret = t;
		return 0;
	}
	t = calloc(1, sizeof *t);
	if (!t || !(t->path = strdup(n->path))) {
		free(t);
		return err_set(-ENOMEM, "no memory for a text");
	}
	t->refs = 1;
	t->moment = moment;
	t->born = clock_now();
	int r = cdl_write(m, n, &t->text, &t->mtime);
	if (r < 0) {
		text_free(t);
		return r;
	}
	t->version = hash_end(hash_bytes(HASH_START, t->text.data, t->text.len));
	remember(m, t);
	*ret = t;
	return 0;
}

static int
measure(struct mount *m, const struct node *n, const char *path, struct view_facts *ret)
{
	struct cdl_text *t = NULL;
	int r = get(m, n, &t);
	if (r < 0)
		return r;
	*ret = (struct view_facts){t->text.len, t->version, t->mtime};
	release(m, t);
	return 0;
}

static int
lay_out(struct mount *m, const struct node *n, const char *path, struct layout **ret)
{
	CLEAN(layout_unrefp) struct layout *l = NULL;
	struct cdl_text *t = NULL;
	int r = get(m, n, &t);
	if (r < 0)
		return r;
	r = layout_new(t->version, &l);
	if (r == 0)
		r = layout_add_text(l, buf_span(&t->text));
	release(m, t);
	if (r == 0)
		*ret = MOVE(l);
	return r;
}

const struct view_ops view_cdl = {
	.suffix = "dataset.cdl",
	.of_group = true,
	.list = LIST_CDL,
	.measure = measure,
	.lay_out = lay_out,
};
