/* A mount makes an array shorter, and another writer appends rows as soon as the metadata say so,
 * before what lies behind the end is removed: its rows stay. And two files of one dimension that
 * are made shorter at once, or of which one is written meanwhile, and a store that does not say
 * what lies there. */
#include "told.h"

#include "view/flats.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

enum { ROWS = 8, LEFT = 5 };

static const char *chunks = "[2]";
static struct zmap *other;
static void (*append)(void); /* what it does then; NULL: it has */
static struct cancel killed; /* of the program that shortens */

static void
put_variable(struct zmap *store, const char *name, unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, name, "\"|i1\"", shape, chunks, "\"fill_value\": 9");
}

static void
put_rows(struct zmap *store, unsigned rows)
{
	put_variable(store, "t", rows);
}

/* u has the same dimension. */
static void
put_both(struct zmap *store, unsigned rows)
{
	put_rows(store, rows);
	put_text(store, "u/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_variable(store, "u", rows);
}

/* The metadata were committed; chunks are not removed yet. */
static void
committed(void *arg, struct node *old, struct node *now)
{
	const struct told *t = arg;
	void (*fn)(void) = append;
	append = NULL;
	if (fn)
		fn();
	t->tell(t->mount, old, now);
}

static void
check_chunk(const char *key, const char *bytes, size_t len)
{
	CLEAN(buf_free) struct buf got = {0};
	const struct zmap_get g = {.key = key, .into = &got, .max = 64};
	CHECK_INT(zmap_get(other, &g, NULL), bytes ? 0 : ZMAP_ABSENT);
	CHECK(!bytes || (got.len == len && !memcmp(got.data, bytes, len)));
}

/* Another program appends chunk 1, with rows that were cut, and stores chunk 3 without its length.
 */
static void
append_chunks(void)
{
	put_bytes(other, "t/1", "\5\5", 2);
	put_rows(other, 4);
	put_bytes(other, "t/3", "\6\6", 2);
}

/* A row in the chunk that holds the last one. */
static void
append_row(void)
{
	put_bytes(other, "t/1", "\1\5\1\1", 4);
	put_rows(other, 6);
}

static void
nothing(void)
{
}

/* The program is killed, too late to leave the rows. */
static void
be_killed(void)
{
	killed.wanted_no_more = true;
}

static void
check(void (*fn)(void))
{
	if (fn == append_chunks) {
		check_chunk("t/0", "\1\1", 2);
		check_chunk("t/1", "\5\5", 2);
		check_chunk("t/2", NULL, 0);
		check_chunk("t/3", "\6\6", 2);
	} else if (fn == be_killed) {
		check_chunk("t/0", "\1\1", 2);
		check_chunk("t/1", NULL, 0);
	} else {
		check_chunk("t/0", "\1\1\1\1", 4);
		check_chunk("t/1", fn == append_row ? "\1\5\1\1" : "\1\11\11\11", 4);
	}
}

/* All rows are 1, `rows` are left. */
static void
shorten(const char *form, unsigned rows, void (*fn)(void))
{
	struct node *was;
	chunks = form;
	struct told t = told_begin(put_rows, ROWS, &was);
	const uint8_t all[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
	other = t.store;
	CHECK_INT(file_write(t.file, 0, (struct span){all, ROWS}, &(struct array_want){0}, 0), 0);
	append = fn;
	model_on_change(t.mount->model, committed, &t);
	killed.wanted_no_more = false;
	CHECK_INT(file_truncate(t.file, rows, RESIZE_HANDLE, &killed), 0);
	CHECK(!append);
	check(fn);
	node_unref(was);
	told_end(&t);
}

/* --- the looks of the mount --- */

static struct zmap_ops ops; /* of its store */
static const struct zmap_ops *under;
static atomic_int looks;
static sem_t both;

static void
play(struct told *t, int (*stat)(struct zmap *, const char *, struct cancel *, struct zmap_stat *))
{
	under = t->mount->zmap->ops;
	ops = *under;
	ops.stat = stat;
	t->mount->zmap->ops = &ops;
	atomic_store(&looks, 0);
}

static int
no_answer(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	if (strstr(key, ".z"))
		return under->stat(z, key, cancel, ret);
	atomic_fetch_add(&looks, 1);
	return err_set(-EIO, "'%s' is not answered", key);
}

/* It is not asked for each of a thousand objects. */
static void
test_no_answer(void)
{
	struct node *was;
	chunks = "[1]";
	struct told t = told_begin(put_rows, 1000, &was);
	play(&t, no_answer);
	CHECK_INT(file_truncate(t.file, LEFT, RESIZE_HANDLE, NULL), -EIO);
	CHECK_INT(looks, 1);
	t.mount->zmap->ops = under;
	node_unref(was);
	told_end(&t);
}

/* A thread has looked behind both arrays. It waits for the other one to have, which may have to
 * wait for this one first. */
static int
look_together(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	static _Thread_local int mine;
	struct timespec end;
	int r = under->stat(z, key, cancel, ret);
	if (strstr(key, ".z") || ++mine != 2)
		return r;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec++;
	if (atomic_fetch_add(&looks, 1))
		sem_post(&both);
	else
		while (sem_timedwait(&both, &end) < 0 && errno == EINTR)
			continue;
	return r;
}

static void *
make_shorter(void *file)
{
	CHECK_INT(file_truncate(file, LEFT, RESIZE_HANDLE, NULL), 0);
	return NULL;
}

/* Each begins with an array of its own. */
static void
test_together(void)
{
	struct node *was;
	struct file *u = NULL;
	pthread_t thread;
	uint8_t rows[ROWS];
	chunks = "[4]";
	struct told t = told_begin(put_both, ROWS, &was);
	other = t.store;
	for (size_t i = 0; i < 4; i++)
		put_bytes(other, (const char *[]){"t/0", "t/1", "u/0", "u/1"}[i], "\1\1\1\1", 4);
	model_on_change(t.mount->model, t.tell, t.mount);
	u = open_for(t.mount, "u", O_RDWR, 0);
	sem_init(&both, 0, 0);
	play(&t, look_together);
	CHECK(!pthread_create(&thread, NULL, make_shorter, u));
	make_shorter(t.file);
	pthread_join(thread, NULL);
	CHECK_INT(read_at(t.file, 0, ROWS, rows), LEFT);
	CHECK_INT(read_at(u, 0, ROWS, rows), LEFT);
	check_chunk("t/1", "\1\11\11\11", 4);
	check_chunk("u/1", "\1\11\11\11", 4);
	t.mount->zmap->ops = under;
	sem_destroy(&both);
	file_close(u);
	node_unref(was);
	told_end(&t);
}

/* --- the other variable is written meanwhile --- */

static struct file *sibling;
static pthread_t writer;

static void *
write_sibling(void *rows)
{
	const struct array_want how = {0};
	CHECK_INT(file_write(sibling, 3, (struct span){rows, LEFT}, &how, 0), 0);
	return NULL;
}

/* u is found to be shorter by a thread that is about to write where it was longer. */
static void
found_shorter(void *arg, struct node *old, struct node *now)
{
	static uint8_t rows[LEFT] = {2, 2, 2, 2, 2};
	const struct told *t = arg;
	struct flat_state st = {.size = ROWS};
	if (old && now && !strcmp(now->path, "u") && append) {
		struct flat *w = flats_find(t->mount, "u");
		append = NULL;
		variables_replaced(t->mount, "u", now);
		CHECK(!pthread_create(&writer, NULL, write_sibling, rows));
		while (st.size == ROWS) {
			usleep(1000);
			flat_now(w, &st);
			flat_state_done(&st);
		}
		flat_put(w);
	}
	t->tell(t->mount, old, now);
}

/* What the thread writes comes behind the new end, and what waited there is no loss. */
static void
test_sibling(void)
{
	struct node *was;
	uint8_t rows[ROWS];
	chunks = "[2]";
	struct told t = told_begin(put_both, ROWS, &was);
	const uint8_t waits[] = {1, 1};
	sibling = open_for(t.mount, "u", O_RDWR, 0);
	CHECK_INT(file_write(sibling, 6, (struct span){waits, 2}, &(struct array_want){0}, 0), 0);
	append = nothing;
	model_on_change(t.mount->model, found_shorter, &t);
	CHECK_INT(file_truncate(t.file, LEFT, RESIZE_HANDLE, NULL), 0);
	CHECK(!append);
	pthread_join(writer, NULL);
	CHECK_INT(file_settle(sibling, SETTLE_FLUSH, 0, NULL), 0);
	CHECK_INT(read_at(sibling, 0, ROWS, rows), ROWS);
	CHECK(!memcmp(rows, "\11\11\11\2\2\2\2\2", ROWS));
	CHECK_INT(read_at(t.file, 0, ROWS, rows), ROWS);
	file_close(sibling);
	node_unref(was);
	told_end(&t);
}

int
main(void)
{
	shorten("[2]", 2, append_chunks);
	shorten("[4]", LEFT, append_row);
	shorten("[4]", LEFT, nothing);
	shorten("[2]", 2, be_killed);
	test_no_answer();
	test_together();
	test_sibling();
	return check_end();
}
