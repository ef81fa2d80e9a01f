#include "codec/codec.h"

#include <assert.h>
#include <sys/mman.h>

enum { SCRATCH_COUNT = 6, LOCAL_MAX = 16, SCRATCH_STEP = 64 << 10 };

struct local {
	void **slot;
	void (*destroy)(void *);
};

static _Thread_local struct {
	void *p;
	size_t size;
} scratch[SCRATCH_COUNT];
static _Thread_local struct local locals[LOCAL_MAX];
static _Thread_local size_t nlocals;

/* The key has no value of its own; it only makes thread_end run. */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

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

/* Mapped, not allocated: bounds are often far above what is used, and only touched pages count. */
void *
codec_scratch(unsigned which, size_t size)
{
	assert(which < SCRATCH_COUNT);
	if (scratch[which].p && size <= scratch[which].size)
		return scratch[which].p;
	if (size > SIZE_MAX / 2)
		return NULL;
	if (scratch[which].p)
		munmap(scratch[which].p, scratch[which].size);
	scratch[which].p = NULL;
	size = (size / SCRATCH_STEP + 1) * SCRATCH_STEP;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	scratch[which].p = p;
	scratch[which].size = size;
	clean_at_end();
	return p;
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
	for (unsigned i = 0; i < SCRATCH_COUNT; i++) {
		if (scratch[i].p)
			munmap(scratch[i].p, scratch[i].size);
		scratch[i].p = NULL;
		scratch[i].size = 0;
	}
	while (nlocals) {
		struct local l = locals[--nlocals];
		l.destroy(*l.slot);
		*l.slot = NULL;
	}
}
