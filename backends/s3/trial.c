/* What a server makes of conditions, tried before anything is written: there are some that refuse
 * them, and some that know nothing of them and overwrite or delete. By two objects, so that what
 * does not depend on each other is asked at once: a mount waits for four answers, one after the
 * other; for five where the server refuses puts that say an id. */
#include "backends/s3/store.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/random.h>

/* A version that no object has. */
static const char other[] = "\"00000000000000000000000000000000\"";
/* Each put has more of them: what came before must not seem to be it. */
static const uint8_t bytes[] = "zarrfs";

/* Puts are tried on the first object, deletions on the other. */
enum { PUT, DELETED, OBJECTS };

struct trial {
	struct zmap *z;
	char key[OBJECTS][48];
	int64_t deadline;
	int plain;         /* outcome of a put without a condition … */
	struct err why;    /* … and its text */
	bool refused;      /* it was, as one with an unknown header may be */
	struct err no_ids; /* why puts say no id; code 0: they do */
	bool deletes_if;
	bool keeps_ids;
};

/* --- requests that are under way beside others --- */

struct trial_asked {
	struct s3_request q;
	struct zmap_stat stat;
	int r;
	struct err why;
	sem_t over;
};

static struct trial_asked
asked_of(struct trial *t, enum client_kind kind, unsigned object)
{
	return (struct trial_asked){
		.q = {.bucket = &((struct s3 *)t->z)->bucket,
			.kind = kind,
			.key = t->key[object],
			.deadline = t->deadline},
	};
}

static void
ended(void *arg, int r, const struct client_reply *reply)
{
	struct trial_asked *a = arg;
	a->r = s3_request_end(&a->q, r, reply, &a->stat);
	err_save(a->r, &a->why);
	sem_post(&a->over);
}

static void
begin(struct trial_asked *a)
{
	sem_init(&a->over, 0, 0);
	s3_request_submit(&a->q, ended, a);
}

/* The outcome; the thread's err_text is left alone. */
static int
end(struct trial_asked *a)
{
	while (sem_wait(&a->over) != 0)
		continue;
	sem_destroy(&a->over);
	s3_request_free(&a->q);
	return a->r;
}

/* --- one round after the other --- */

/* ret: the object that puts are tried on. */
static int
put_each(struct trial *t, struct zmap_stat *ret)
{
	const bool marked = !((struct s3 *)t->z)->refuses_ids;
	const struct zmap_put p = {.key = t->key[PUT],
		.bytes = {bytes, 1},
		.if_absent = true,
		.deadline = t->deadline};
	struct trial_asked plain = asked_of(t, CLIENT_PUT, DELETED);
	char id[S3_PUT_ID];
	int r = marked ? s3_new_put_id(id) : 0;
	if (r < 0)
		return r;
	plain.q.send = p.bytes;
	plain.q.put_id = marked ? id : NULL;
	begin(&plain);
	r = s3_put(t->z, &p, ret);
	t->plain = end(&plain);
	t->why = plain.why;
	t->refused = plain.q.refused;
	return r;
}

/* With an id each, and where that is refused without. */
static int
put_both(struct trial *t, struct zmap_stat *ret)
{
	int r = put_each(t, ret);
	if (r >= 0 || t->plain >= 0 || !t->refused)
		return r;
	t->no_ids = t->why;
	((struct s3 *)t->z)->refuses_ids = true;
	return put_each(t, ret);
}

/* What must not be done. -ENOTSUP: it is. */
static int
try_in_vain(struct trial *t)
{
	struct trial_asked absent = asked_of(t, CLIENT_PUT, PUT), match = absent,
			   del = asked_of(t, CLIENT_DELETE, DELETED);
	absent.q.send = (struct span){bytes, 2};
	absent.q.if_none_match = "*";
	match.q.send = (struct span){bytes, 3};
	match.q.if_match = del.q.if_match = other;
	begin(&absent);
	begin(&match);
	begin(&del);
	end(&absent);
	end(&match);
	t->deletes_if = end(&del) == ZMAP_CHANGED;
	if (absent.r != ZMAP_CHANGED)
		return absent.r < 0 ? err_restore(&absent.why)
				    : err_set(-ENOTSUP, "If-None-Match is not looked at");
	if (match.r != ZMAP_CHANGED)
		return match.r < 0 ? err_restore(&match.why)
				   : err_set(-ENOTSUP, "If-Match is not looked at");
	return 0;
}

/* What must be done; and what was not to be deleted must be there. Whichever is looked at should
 * have the id of a put. */
static int
try_match(struct trial *t, const struct zmap_stat *now)
{
	const struct zmap_put p = {.key = t->key[PUT],
		.bytes = {bytes, 4},
		.if_match = now->version,
		.deadline = t->deadline};
	struct zmap_stat s = {0};
	struct trial_asked look = asked_of(t, CLIENT_HEAD, t->deletes_if ? DELETED : PUT);
	begin(&look);
	int r = *now->version ? s3_put(t->z, &p, &s) : ZMAP_CHANGED;
	const bool there = end(&look) == 0;
	t->deletes_if = there && t->plain == 0 && t->deletes_if;
	t->keeps_ids = there && *look.q.told_id;
	return r == ZMAP_CHANGED ? err_set(-ENOTSUP, "If-Match never holds") : r;
}

static void
delete_both(struct trial *t)
{
	struct trial_asked del[OBJECTS];
	for (unsigned i = 0; i < OBJECTS; i++) {
		del[i] = asked_of(t, CLIENT_DELETE, i);
		begin(&del[i]);
	}
	for (unsigned i = 0; i < OBJECTS; i++)
		end(&del[i]);
}

/* 0 or -errno; -ENOTSUP: the server refuses conditions, or overwrites in spite of them. */
static int
try_conditions(struct trial *t)
{
	struct zmap_stat now = {0};
	int r = put_both(t, &now);
	if (r > 0) /* the name is new */
		r = err_set(-ENOTSUP, "If-None-Match never holds");
	if (r == 0)
		r = try_in_vain(t);
	return r == 0 ? try_match(t, &now) : r;
}

static int
say_no_ids(const struct trial *t, struct buf *said)
{
	return buf_addf(said,
		"this server refuses " CLIENT_PUT_ID
		" (%s): a chunk whose put was not answered is known again by its bytes\n",
		t->no_ids.text);
}

static int
try_all(struct trial *t, struct buf *said)
{
	struct s3 *s = (struct s3 *)t->z;
	int r = try_conditions(t);
	if (r == -ENOTSUP) {
		t->z->caps &= ~(unsigned)ZMAP_CONDITIONAL;
		r = zmap_say_unconditional(said, err_text());
		if (r == 0 && t->plain != 0)
			r = t->plain < 0 ? err_restore(&t->why)
					 : err_set(-EIO, "a put without a condition is refused");
	} else if (r == 0) {
		s->deletes_if = t->deletes_if;
		s->keeps_ids = t->keeps_ids;
		r = t->no_ids.code ? say_no_ids(t, said) : 0;
	}
	return r;
}

int
s3_try_writing(struct zmap *z, struct buf *said)
{
	struct trial t = {.z = z, .deadline = z->timeout ? clock_now() + z->timeout : 0};
	uint64_t id = 0;
	if (!(z->caps & ZMAP_WRITE))
		return err_set(-EROFS, "the store is open read-only");
	if (getrandom(&id, sizeof id, 0) != sizeof id)
		return err_sys(errno, "getrandom");
	for (unsigned i = 0; i < OBJECTS; i++)
		snprintf(t.key[i], sizeof t.key[i], ".zarrfs-try-%016" PRIx64, id + i);
	struct err why;
	int r = try_all(&t, said);
	err_save(r, &why);
	if (r == 0 || t.plain == 0)
		delete_both(&t);
	if (r < 0)
		err_restore(&why);
	return r < 0 ? err_add(r, "the bucket cannot be written") : r;
}
