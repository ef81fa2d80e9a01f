/* How wide the elements of nodes are: measured once, by one thread. */
#include "view/facts_impl.h"

#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>

/* With the lock held: what was measured, or why not; err_text is that of code. */
static void
keep_width(const struct facts *f, struct fact *a, int code, uint32_t width)
{
	a->width_state = code == 0 ? WIDTH_KNOWN : WIDTH_NONE;
	a->width = width;
	if (code != -EACCES || !f->denied_for)
		return;
	if (!a->denied)
		a->denied = malloc(sizeof *a->denied);
	if (!a->denied)
		return;
	err_save(code, a->denied);
	a->width_state = WIDTH_DENIED;
	a->denied_until = clock_now() + f->denied_for;
}

/* 1: known, in *ret; 0: not; -errno: it was denied lately. */
static int
known_width(const struct fact *a, uint64_t key, uint32_t *ret)
{
	if (a->width_key != key)
		return 0;
	if (a->width_state == WIDTH_DENIED && clock_now() < a->denied_until)
		return err_restore(a->denied);
	if (a->width_state != WIDTH_KNOWN)
		return 0;
	*ret = a->width;
	return 1;
}

/* The same; 0: the caller measures, with *ret_attempt, and uses the record meanwhile. */
static int
wait_for_width(
	struct facts *f, const char *path, uint64_t key, uint32_t *ret, uint64_t *ret_attempt)
{
	int r = 0;
	LOCKED(&f->lock) {
		struct fact *a = fact_have(f, path);
		if (!a)
			return err_set(-ENOMEM, "no memory");
		fact_use(f, a);
		while (a->width_state == WIDTH_MEASURING && a->width_key == key)
			pthread_cond_wait(&f->measured, &f->lock);
		r = known_width(a, key, ret);
		if (r) {
			fact_unuse(f, a);
			return r;
		}
		a->width_state = WIDTH_MEASURING;
		a->width_key = key;
		*ret_attempt = ++a->attempt;
	}
	return r;
}

int
facts_width(struct facts *f, const char *path, uint64_t key, facts_measure_fn *measure, void *arg,
	uint32_t *ret)
{
	uint32_t width = 0;
	uint64_t attempt = 0;
	int r = wait_for_width(f, path, key, ret, &attempt);
	if (r)
		return r < 0 ? r : 0;
	r = measure(arg, &width);
	LOCKED(&f->lock) {
		struct fact *a = fact_find(f, path);
		if (a->attempt == attempt)
			keep_width(f, a, r, width);
		fact_unuse(f, a);
		pthread_cond_broadcast(&f->measured);
	}
	if (r == 0)
		*ret = width;
	return r;
}

bool
facts_know_width(struct facts *f, const char *path, uint64_t key, uint32_t *ret)
{
	bool known = false;
	LOCKED(&f->lock) {
		const struct fact *a = fact_find(f, path);
		known = a && a->width_state == WIDTH_KNOWN && a->width_key == key;
		if (known)
			*ret = a->width;
	}
	return known;
}

void
facts_forget_width(struct facts *f, const char *path)
{
	LOCKED(&f->lock) {
		struct fact *a = fact_find(f, path);
		if (a)
			fact_forget_width(f, a);
	}
}
