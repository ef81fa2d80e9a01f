/* Is there a repository? Two objects tell: `repo` (spec 2), or what branch main means (spec 1). */
#include "backends/icechunk/impl.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PROBED = 1 << 20 /* bytes of what may be a repo, or anything of that name */ };

/* What was asked of `repo`, and came on any thread. */
struct answer {
	pthread_mutex_t lock; /* guards done */
	pthread_cond_t came;
	bool done;
	int result; /* as zmap_get's; written before done */
	struct err why;
	struct buf file;
	struct zmap_stat stat;
};

static void
answer_came(void *arg, int r, const struct zmap_stat *s)
{
	struct answer *a = arg;
	a->result = r;
	if (r < 0)
		err_save(r, &a->why);
	else
		a->stat = *s;
	LOCKED(&a->lock) {
		a->done = true;
		pthread_cond_signal(&a->came);
	}
}

static int
wait_for(struct answer *a)
{
	LOCKED(&a->lock)
		while (!a->done) /* every request has a deadline */
			pthread_cond_wait(&a->came, &a->lock);
	return a->result < 0 ? err_restore(&a->why) : a->result;
}

/* Spec 2: ZMAP_ABSENT: not that. */
static int
open_repo(struct ice *p, const struct zmap_get *asked, struct answer *a)
{
	CLEAN(buf_free) struct buf payload = {0};
	int r = wait_for(a);
	p->hides = r == -EACCES;
	if (ice_is_nothing(r) || (r == 0 && !ice_is_file(buf_span(&a->file))))
		return ZMAP_ABSENT;
	struct zmap_get g = *asked;
	g.max = p->file_max;
	if (r == 0 && a->stat.size > a->file.len)
		r = ice_read(p->lower, &g, ICE_REPO, 0, &payload, NULL, &a->stat);
	else if (r == 0)
		r = ice_unpack(buf_span(&a->file), ICE_REPO, p->file_max, &payload);
	struct ice_repo *now = NULL;
	if (r == 0)
		r = ice_repo_new(&payload, &now);
	return r == 0 ? ice_take_repo(p, now, a->stat.version) : r;
}

static int
ask_branch(struct ice *p)
{
	const struct ice_ref_name branch = {ICE_REF_BRANCH, "main", 0};
	int r = ice_ref_read(p->lower, p->root, false, &branch, p->main_version, p->main_id);
	if (r != 0)
		p->main_id[0] = 0;
	return ice_is_nothing(r) || r == -EIO ? ZMAP_ABSENT : r;
}

/* Together where each costs a round trip, else one after the other. */
static int
ask(struct ice *p, const struct zmap_get *g, struct answer *a)
{
	const bool together = p->lower->caps & ZMAP_REMOTE;
	zmap_submit(p->lower, g, answer_came, a);
	int branch = together ? ask_branch(p) : ZMAP_ABSENT;
	int r = open_repo(p, g, a);
	if (r == ZMAP_ABSENT && !together)
		branch = ask_branch(p);
	if (r != ZMAP_ABSENT)
		p->main_id[0] = 0;
	return r == ZMAP_ABSENT ? branch : r;
}

int
ice_probe(struct ice *p)
{
	struct answer a = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};
	CLEAN(clean_free) char *key = NULL;
	if (asprintf(&key, "%srepo", p->root) < 0) {
		key = NULL;
		return err_set(-ENOMEM, "no memory for a key");
	}
	const struct zmap_get g = {
		.key = key, .len = PROBED, .max = PROBED, .revalidate = true, .into = &a.file};
	p->repo_due = p->every == INT64_MAX ? INT64_MAX : clock_now() + p->every;
	int r = ask(p, &g, &a);
	buf_free(&a.file);
	pthread_cond_destroy(&a.came);
	pthread_mutex_destroy(&a.lock);
	return r;
}
