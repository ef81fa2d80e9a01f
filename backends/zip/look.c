/* Is it still the same archive? */
#include "backends/zip/renewed.h"

#include "base/err.h"

#include <errno.h>

static const int64_t LOOK_EVERY = SECOND / 10;

static int
gone(const struct zip_store *p)
{
	return err_set(-EIO, "the archive '%s' is gone", p->key);
}

static int64_t
look_every(const struct zip_store *p)
{
	return p->lower->caps & ZMAP_REMOTE ? ZIP_LOOK_REMOTE : LOOK_EVERY;
}

/* With nothing locked: `now` if it is, else the one that is there. *ret_lost: there is none that
 * could be used. */
static int
look_now(struct zip_store *p, struct archive *now, struct archive **ret, bool *ret_lost)
{
	struct zmap_stat s;
	int64_t began = clock_now();
	int r = zmap_stat(p->lower, p->key, &s);
	if (r < 0)
		return r;
	if (r == 0 && zip_same_archive(&s, &now->stat)) {
		atomic_store(&now->known, began);
		*ret = archive_ref(now);
		return 0;
	}
	if (r == 0)
		r = archive_open(p, ret);
	if (r == 0)
		r = zip_renewed_versions(p, *ret);
	if (r == ZMAP_ABSENT || r == -ENOENT)
		r = gone(p);
	*ret_lost = r < 0;
	return r;
}

/* Lock held. Is the caller to look? stale and at_once of zip_look. */
static bool
look_due(struct zip_store *p, const struct archive *stale, bool at_once)
{
	bool waited = false;
	if (!stale && !at_once)
		return !p->looking && clock_now() >= p->next_look;
	for (; p->looking; waited = true)
		pthread_cond_wait(&p->looked, &p->lock); /* each look has a deadline */
	return !stale || (stale == p->now && !(waited && p->failure.code));
}

/* Lock held. */
static int
answer(struct zip_store *p, struct archive **ret)
{
	if (p->failure.code)
		return err_restore(&p->failure);
	*ret = archive_ref(p->now);
	return 0;
}

int
zip_look(struct zip_store *p, const struct archive *stale, bool at_once, struct archive **ret)
{
	CLEAN(archive_unrefp) struct archive *before = NULL, *now = NULL, *old = NULL;
	CLEAN(zip_renewed_freep) struct zip_renewed *taken = NULL;
	CLEAN(zip_spill_unrefp) struct zip_spill *spill = NULL;
	bool lost = false;
	LOCKED(&p->lock) {
		if (!look_due(p, stale, at_once))
			return answer(p, ret);
		p->looking = true;
		before = archive_ref(p->now);
	}
	int r = look_now(p, before, &now, &lost);
	LOCKED(&p->lock) {
		p->looking = false;
		p->next_look = clock_now() + look_every(p);
		if (r == 0 || lost)
			err_save(r, &p->failure);
		if (r == 0 && now != p->now) {
			old = p->now;
			p->now = archive_ref(now);
			taken = zip_renewed_taken(p, now, &spill);
		}
		pthread_cond_broadcast(&p->looked);
	}
	if (r == 0)
		*ret = MOVE(now);
	return r;
}

void
zip_look_begin(struct zip_store *p)
{
	LOCKED(&p->lock) {
		while (p->looking)
			pthread_cond_wait(&p->looked, &p->lock);
		p->looking = true;
	}
}

void
zip_look_end(struct zip_store *p)
{
	LOCKED(&p->lock) {
		p->looking = false;
		p->next_look = clock_now() + look_every(p);
		pthread_cond_broadcast(&p->looked);
	}
}

void
zip_look_again(struct zip_store *p)
{
	CLEAN(archive_unrefp) struct archive *a = NULL;
	zip_look(p, NULL, true, &a);
}

int
zip_current(struct zip_store *p, struct archive **ret)
{
	int r = 0;
	LOCKED(&p->lock)
		r = answer(p, ret);
	return r;
}
