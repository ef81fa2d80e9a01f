/* What a mount remembers about paths, and telling about stale pages and what is left out. */
#include "check.h"

#include "base/clock.h"
#include "base/err.h"
#include "view/facts.h"
#include "view/notes.h"
#include "view/stale.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

static void
test_pages(void)
{
	struct facts *f = calloc(1, sizeof *f);
	facts_init(f);
	CHECK(!facts_open(f, "a", 1, SECOND * 60, 0));
	CHECK(facts_open(f, "a", 1, SECOND * 60, 0));
	CHECK(!facts_open(f, "b", 1, SECOND * 60, 0));
	CHECK(!facts_open(f, "a", 2, SECOND * 60, 0)); /* another version */
	CHECK(facts_open(f, "a", 2, INT64_MAX, 0));
	CHECK(!facts_open(f, "a", 2, 0, 0)); /* too old */
	facts_changed(f, "a", 77);
	CHECK_INT(facts_mtime(f, "a"), 77);
	facts_changed(f, "a", 5); /* not back */
	CHECK_INT(facts_mtime(f, "a"), 77);
	CHECK_INT(facts_mtime(f, "b"), 0);
	CHECK(!facts_open(f, "a", 2, INT64_MAX, facts_noticed(f, "a", false)));
	CHECK(facts_open(f, "a", 2, INT64_MAX, facts_noticed(f, "a", false)));
	facts_written(f, "a", 78);
	CHECK(facts_open(f, "a", 2, INT64_MAX, facts_noticed(f, "a", true)));
	CHECK(!facts_open(f, "a", 2, INT64_MAX, facts_noticed(f, "a", false)));

	CHECK(!facts_outlived(f, "a", INT64_MAX));
	CHECK(!facts_outlived(f, "c", 0));
	CHECK(facts_outlived(f, "a", 0));
	facts_close(f, "b");
	CHECK(!facts_outlived(f, "b", 0)); /* no program has it open */
	facts_free(f);
	free(f);
}

static void
use_many(struct facts *f)
{
	char path[32];
	for (unsigned i = 0; i < FACTS_IDLE + 10; i++) {
		snprintf(path, sizeof path, "many%u", i);
		facts_open(f, path, 1, INT64_MAX, 0);
		facts_close(f, path);
	}
}

static int
measure_many(void *arg, uint32_t *ret)
{
	use_many(arg);
	*ret = 5;
	return 0;
}

/* A record in no use is dropped for others, and its path counts as changed. */
static void
test_dropped(void)
{
	struct facts *f = calloc(1, sizeof *f);
	uint32_t width = 0;
	facts_init(f);
	facts_open(f, "open", 1, INT64_MAX, 0);
	facts_set_kin(f, "p", "q", true);
	CHECK_INT(facts_kin(f, "p", "q"), KIN_SAME);
	facts_changed(f, "v", 7);
	facts_written(f, "w", 7);
	CHECK(!facts_open(f, "v.nc", 1, INT64_MAX, facts_noticed(f, "v", false)));
	const int64_t noticed = facts_noticed(f, "v", false),
		      written = facts_noticed(f, "w", false);
	use_many(f);
	CHECK_INT(f->nidle, FACTS_IDLE);
	CHECK_INT(facts_mtime(f, "v"), 0);
	CHECK(facts_noticed(f, "v", true) >= noticed);
	CHECK(facts_noticed(f, "w", false) >= written);
	CHECK(!facts_open(f, "w", 1, INT64_MAX, facts_noticed(f, "w", false)));
	CHECK(facts_noticed(f, "w", false) >= written);
	CHECK_INT(facts_kin(f, "p", "q"), KIN_UNKNOWN);
	CHECK(facts_open(f, "open", 1, INT64_MAX, 0)); /* its record is in use */
	CHECK(facts_open(f, "v.nc", 1, INT64_MAX, 0));
	CHECK_INT(facts_width(f, "w", 1, measure_many, f, &width), 0);
	CHECK_INT(facts_width(f, "t", 1, measure_many, f, &width), 0);
	CHECK(facts_know_width(f, "t", 1, &width));
	const unsigned long long forgotten = f->forgotten;
	use_many(f);
	CHECK(!facts_know_width(f, "t", 1, &width));
	CHECK(f->forgotten > forgotten);
	CHECK_INT(f->nidle, FACTS_IDLE);
	facts_free(f);
	free(f);
}

static void
count_path(void *arg, const char *path)
{
	++*(int *)arg;
	CHECK_STR(path, "open");
}

static void
test_expire(void)
{
	struct facts *f = calloc(1, sizeof *f);
	int told = 0;
	facts_init(f);
	facts_open(f, "open", 1, INT64_MAX, 0);
	facts_open(f, "closed", 1, INT64_MAX, 0);
	facts_close(f, "closed");
	facts_expire(f, count_path, &told);
	CHECK_INT(told, 1);
	facts_expire(f, count_path, &told); /* before it is opened again */
	CHECK_INT(told, 2);
	CHECK(!facts_open(f, "open", 1, INT64_MAX, 0));
	CHECK(!facts_open(f, "closed", 1, INT64_MAX, 0));
	CHECK(facts_open(f, "closed", 1, INT64_MAX, 0));
	facts_free(f);
	free(f);
}

struct measured {
	struct facts *facts;
	atomic_int calls;
	int result;
	bool disturbed; /* a change arrives while it is measured */
};

static int
measure(void *arg, uint32_t *ret)
{
	struct measured *m = arg;
	m->calls++;
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	if (m->disturbed)
		facts_changed(m->facts, "v", 1);
	*ret = 42;
	return m->result < 0 ? err_set(m->result, "no right") : 0;
}

/* What is denied is not asked for by each that wants it, in that version and for a while. */
static void
test_denied(void)
{
	struct facts *f = calloc(1, sizeof *f);
	struct measured m = {.facts = f, .result = -EACCES};
	uint32_t width = 0;
	facts_init(f);
	CHECK_INT(facts_width(f, "v", 9, measure, &m, &width), -EACCES);
	CHECK_INT(facts_width(f, "v", 9, measure, &m, &width), -EACCES);
	CHECK_INT(m.calls, 2); /* not remembered at all */
	f->denied_for = 600 * SECOND;
	m.calls = 0;
	for (int i = 0; i < 3; i++) {
		CHECK_INT(facts_width(f, "v", 9, measure, &m, &width), -EACCES);
		CHECK_STR(err_text(), "no right");
		err_clear();
	}
	CHECK_INT(m.calls, 1);
	CHECK(!facts_know_width(f, "v", 9, &width));
	CHECK_INT(facts_width(f, "v", 10, measure, &m, &width), -EACCES); /* another version */
	CHECK_INT(m.calls, 2);
	facts_forget_width(f, "v");
	f->denied_for = 1;
	CHECK_INT(facts_width(f, "v", 10, measure, &m, &width), -EACCES);
	m.result = 0;
	CHECK_INT(facts_width(f, "v", 10, measure, &m, &width), 0);
	CHECK_INT(m.calls, 4);
	facts_free(f);
	free(f);
}

static void *
ask_width(void *arg)
{
	struct measured *m = arg;
	uint32_t width = 0;
	CHECK_INT(facts_width(m->facts, "v", 9, measure, m, &width), 0);
	CHECK_INT(width, 42);
	return NULL;
}

static void
test_width(void)
{
	struct facts *f = calloc(1, sizeof *f);
	struct measured m = {.facts = f};
	uint32_t width = 0;
	pthread_t t[8];
	facts_init(f);
	m.result = -EIO;
	CHECK_INT(facts_width(f, "v", 9, measure, &m, &width), -EIO);
	m.result = 0;
	m.calls = 0;
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, ask_width, &m);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	CHECK_INT(m.calls, 1);
	CHECK_INT(facts_width(f, "v", 10, measure, &m, &width), 0); /* another version */
	CHECK_INT(m.calls, 2);
	facts_forget_width(f, "v");
	m.disturbed = true; /* what was measured is given out, but not kept */
	CHECK_INT(facts_width(f, "v", 10, measure, &m, &width), 0);
	m.disturbed = false;
	CHECK_INT(facts_width(f, "v", 10, measure, &m, &width), 0);
	CHECK_INT(m.calls, 4);
	facts_free(f);
	free(f);
}

static char told[256];
static pthread_mutex_t hearing = PTHREAD_MUTEX_INITIALIZER;

static void
hear(void *arg, const char *path, enum stale_what what, int64_t pushed)
{
	size_t n = strlen(told);
	pthread_mutex_lock(&hearing);
	snprintf(told + n, sizeof told - n, "%s:%d ", path, what);
	pthread_mutex_unlock(&hearing);
}

static void
test_stale(void)
{
	struct stale *s = NULL;
	CHECK_INT(stale_new(hear, NULL, &s), 0);
	stale_push(s, "a", STALE_PAGES);
	stale_push(s, "b/c", STALE_ATTRIBUTES);
	CHECK(stale_flush(s, INT64_MAX));
	CHECK_STR(told, "a:1 b/c:0 ");
	/* the one that is told waits for the caller of stale_flush */
	pthread_mutex_lock(&hearing);
	stale_push(s, "wait", STALE_PAGES);
	CHECK(!stale_flush(s, clock_now() + SECOND / 20));
	pthread_mutex_unlock(&hearing);
	CHECK(stale_flush(s, INT64_MAX));
	stale_push(s, "last", STALE_PAGES);
	s = stale_free(s);
	CHECK(!s);
}

static void
test_kin(void)
{
	struct facts *f = calloc(1, sizeof *f);
	facts_init(f);
	CHECK_INT(facts_kin(f, "a", "b"), KIN_UNKNOWN);
	facts_set_kin(f, "a", "b", true);
	facts_set_kin(f, "c", "d", true);
	facts_set_kin(f, "a", "month", false);
	CHECK_INT(facts_kin(f, "b", "a"), KIN_SAME);
	CHECK_INT(facts_kin(f, "a", "c"), KIN_UNKNOWN); /* they were never compared */
	CHECK_INT(facts_kin(f, "b", "month"), KIN_NONE);
	CHECK_INT(facts_kin(f, "a", "e"), KIN_UNKNOWN);
	facts_set_kin(f, "b", "c", true); /* and what was seen with either */
	CHECK_INT(facts_kin(f, "a", "d"), KIN_SAME);
	CHECK_INT(facts_kin(f, "d", "month"), KIN_NONE);
	facts_set_kin(f, "a", "d", false); /* not back */
	CHECK_INT(facts_kin(f, "a", "d"), KIN_SAME);
	facts_forget_kin(f, "a");
	CHECK_INT(facts_kin(f, "a", "d"), KIN_UNKNOWN);
	CHECK_INT(facts_kin(f, "b", "d"), KIN_SAME);
	facts_free(f);
	free(f);
}

static void
count_note(void *arg, const char *line)
{
	++*(int *)arg;
}

static void
test_notes(void)
{
	struct notes *n = calloc(1, sizeof *n);
	int told_notes = 0;
	notes_init(n);
	notes_add(n, "left out '%s'", "x"); /* no log listens */
	notes_set(n, count_note, &told_notes);
	for (int i = 0; i < 3; i++) {
		notes_add(n, "left out '%s'", "x");
		notes_add(n, "left out '%s'", "y");
	}
	CHECK_INT(told_notes, 2);
	notes_free(n);
	free(n);
}

static void
note_path(void *arg, const char *path)
{
	strcat(arg, path);
}

/* Files that are open are told of once each, and where there are none nothing is locked. */
static void
test_age(void)
{
	struct facts *f = calloc(1, sizeof *f);
	char told_of[8] = "";
	facts_init(f);
	for (const char *path = "a\0b\0c\0"; *path; path += 2)
		facts_open(f, path, 1, INT64_MAX, 0);
	facts_open(f, "b", 1, INT64_MAX, 0);
	facts_age(f, SECOND * 60, note_path, told_of);
	CHECK_STR(told_of, "");
	facts_close(f, "b");
	facts_close(f, "c");
	facts_age(f, 0, note_path, told_of);
	CHECK_INT(strlen(told_of), 2);
	CHECK(strchr(told_of, 'a') && strchr(told_of, 'b'));
	facts_close(f, "b");
	facts_close(f, "a");
	*told_of = 0;
	alarm(60);
	LOCKED(&f->lock)
		facts_age(f, 0, note_path, told_of);
	alarm(0);
	CHECK_STR(told_of, "");
	facts_open(f, "b", 1, INT64_MAX, 0);
	facts_age(f, 0, note_path, told_of);
	CHECK_STR(told_of, "b");
	facts_free(f);
	free(f);
}

int
main(void)
{
	test_pages();
	test_age();
	test_expire();
	test_width();
	test_denied();
	test_kin();
	test_dropped();
	test_stale();
	test_notes();
	return check_end();
}
