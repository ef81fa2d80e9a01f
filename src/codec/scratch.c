#include "codec/codec.h"

#include "base/mem.h"

#include <assert.h>

enum {
	SCRATCH_COUNT = 6,
	LOCAL_MAX = 16,
	SCRATCH_STEP = 64 << 10,
	KEPT = 256 << 10, /* bytes that a thread which rests may hold */
};

struct local {
	void **slot;
	void (*destroy)(void *);
};

struct codec_scratch {
	void *p;
	size_t size;
};

static _Thread_local struct codec_scratch scratch[CODEC_NESTED_MAX * SCRATCH_COUNT];
static _Thread_local unsigned level;
static _Thread_local struct local locals[LOCAL_MAX];
static _Thread_local size_t nlocals;

/* The key has no value of its own; it only makes thread_end run. */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
give_back(void)
{
	for (unsigned i = 0; i < CODEC_NESTED_MAX * SCRATCH_COUNT; i++) {
		mem_put(scratch[i].p, scratch[i].size);
		scratch[i] = (struct codec_scratch){0};
	}
}

static void
thread_end(void *arg)
{
	codec_scratch_free();
}

static void
make_key(void)
{
	pthread_key_create(&key, thread_end);
}

static void
clean_at_end(void)
{
	pthread_once(&once, make_key);
	pthread_setspecific(key, scratch);
}

/* From what the whole program recycles: threads come and go, and most of them wait for a store. */
void *
codec_scratch(unsigned which, size_t size)
{
	assert(which < SCRATCH_COUNT);
	struct codec_scratch *s = &scratch[level * SCRATCH_COUNT + which];
	if (s->p && size <= s->size)
		return s->p;
	mem_put(s->p, s->size);
	s->p = NULL;
	s->size = size < SCRATCH_STEP ? SCRATCH_STEP : size;
	s->p = mem_get(&s->size);
	if (s->p)
		clean_at_end();
	return s->p;
}

void
codec_scratch_enter(void)
{
	assert(level + 1 < CODEC_NESTED_MAX);
	level++;
}

void
codec_scratch_leave(void)
{
	level--;
}

void
codec_scratch_rest(void)
{
	size_t sum = 0;
	for (unsigned i = 0; i < CODEC_NESTED_MAX * SCRATCH_COUNT; i++)
		sum += scratch[i].p ? scratch[i].size : 0;
	if (sum > KEPT)
		give_back();
}

void *
codec_local(void **slot, void *(*make)(void), void (*destroy)(void *))
{
	if (*slot)
		return *slot;
	assert(nlocals < LOCAL_MAX);
	*slot = make();
	if (*slot) {
		locals[nlocals++] = (struct local){slot, destroy};
		clean_at_end();
	}
	return *slot;
}

void
codec_scratch_free(void)
{
	give_back();
	while (nlocals) {
		struct local l = locals[--nlocals];
		l.destroy(*l.slot);
		*l.slot = NULL;
	}
}
