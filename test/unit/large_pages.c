/* Memory on a system whose pages are larger than 4 KiB, as they are with some processors: what the
 * kernel does there with an address or a length that is no page is done here. Not under sanitizers,
 * which have calls of their own in place of these. */
#include "base/mem.h"
#include "check.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 64 << 10, HELD = 300 };

int
getpagesize(void)
{
	return PAGE;
}

static long
by_pages(long call, void *p, size_t size, int how)
{
	errno = EINVAL;
	return (uintptr_t)p % PAGE ? -1 : syscall(call, p, (size + PAGE - 1) / PAGE * PAGE, how);
}

int
madvise(void *p, size_t size, int how)
{
	return (int)by_pages(SYS_madvise, p, size, how);
}

int
munmap(void *p, size_t size)
{
	return (int)by_pages(SYS_munmap, p, size, 0);
}

static struct piece {
	uint8_t *p;
	size_t size;
} held[HELD];

static void
give_back(struct piece *h, uint8_t mark)
{
	if (!h->p)
		return;
	CHECK_INT(h->p[0], mark);
	CHECK_INT(h->p[h->size / 2], mark);
	CHECK_INT(h->p[h->size - 1], mark);
	mem_put(h->p, h->size);
	h->p = NULL;
}

/* Of what is given back nothing was a neighbour's. */
static void
keep_apart(int times, unsigned octaves)
{
	uint32_t seed = 7;
	for (int i = 0; i < times; i++) {
		unsigned at = check_random(&seed) % HELD;
		struct piece *h = &held[at];
		give_back(h, (uint8_t)at);
		h->size = check_random(&seed) % (1 << (10 + check_random(&seed) % octaves)) + 1;
		h->p = (i % 3 ? mem_get : mem_get_bare)(&h->size);
		CHECK(h->p);
		if (h->p)
			memset(h->p, (uint8_t)at, h->size);
		if (i % 1000 == 0)
			mem_limit(check_random(&seed) % (32 << 20));
	}
	for (unsigned at = 0; at < HELD; at++)
		give_back(&held[at], (uint8_t)at);
	mem_trim();
	CHECK_INT(mem_idle(), 0);
}

int
main(void)
{
	keep_apart(20000, 9);
	keep_apart(1500, 14);
	return check_end();
}
