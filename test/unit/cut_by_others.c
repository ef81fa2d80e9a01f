/* Another writer makes an array shorter that this mount has written: the rows that are left are
 * stored, those that are not are lost, which is an error of the file until a refresh. */
#include "cut.h"

#include <unistd.h>

enum { ROWS = 8, LEFT = 5 };

static const char bucket[] = "fault+mem:cut#fault.kind=none&fault.remote=1";
static const char *chunks = "[2]";
static const struct zmap_ops *under; /* of the mount's store */
static const struct array_want how;
static const uint8_t ones[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};

static void
put_rows(struct zmap *store, unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", "\"|i1\"", shape, chunks, "\"fill_value\": 9");
}

static struct file *
open_file(struct mount *m)
{
	return open_for(m, "t", O_RDWR, 0);
}

static struct cut
begin(const char *url)
{
	struct cut c = cut_store("mem:cut", "[\"time\"]");
	put_rows(c.store, ROWS);
	cut_mount(&c, url, "t");
	return c;
}

static void
write_rows(struct cut *c, unsigned from, unsigned to)
{
	CHECK_INT(file_write(c->file, from, (struct span){ones, to - from}, &how, 0), 0);
}

static void
shorten(struct cut *c, unsigned rows, bool heard)
{
	put_rows(c->store, rows);
	if (heard)
		cut_hear(c);
}

static void
check_chunk(struct cut *c, const char *key, const char *bytes)
{
	cut_check_chunk(c, key, bytes, 2);
}

static void
rows_stay(bool heard)
{
	struct cut c = begin("mem:cut");
	uint8_t got[ROWS];
	write_rows(&c, 0, LEFT);
	shorten(&c, LEFT, heard);
	CHECK_INT(cut_settle(&c), 0);
	check_chunk(&c, "t/0", "\1\1");
	check_chunk(&c, "t/2", "\1\11");
	write_rows(&c, 1, 3); /* and the file goes on */
	CHECK_INT(cut_settle(&c), 0);
	CHECK_INT(read_at(c.file, 0, ROWS, got), LEFT);
	cut_end(&c);
}

static void
rows_go(bool heard)
{
	struct cut c = begin("mem:cut");
	struct file *other = open_file(c.mount);
	CLEAN(buf_free) struct buf said = {0};
	write_rows(&c, 0, ROWS);
	shorten(&c, LEFT, heard);
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), "first 5 rows is lost"));
	check_chunk(&c, "t/0", "\1\1");
	check_chunk(&c, "t/1", "\1\1");
	check_chunk(&c, "t/2", "\1\11");
	check_chunk(&c, "t/3", NULL);
	shorten(&c, 3, true); /* it is still an error after the next one, and for each opener */
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), "first 5 rows is lost"));
	CHECK_INT(file_settle(other, SETTLE_FLUSH, 0, NULL), -EIO);
	file_close(other);
	CHECK_INT(mount_refresh(c.mount, &said), 0);
	CHECK_INT(cut_settle(&c), 0);
	write_rows(&c, 0, 3);
	CHECK_INT(cut_settle(&c), 0);
	check_chunk(&c, "t/3", NULL);
	cut_end(&c);
}

/* The documents have the bytes that this mount had given them before. */
static void
rows_go_that_came(bool heard)
{
	struct cut c = begin("mem:cut");
	for (unsigned row = ROWS; row < ROWS + 2; row++) {
		write_rows(&c, row, row + 1);
		CHECK_INT(cut_settle(&c), 0);
	}
	write_rows(&c, ROWS + 1, ROWS + 2);
	shorten(&c, ROWS + 1, heard);
	CHECK_INT(cut_settle(&c), -EIO);
	cut_end(&c);
}

/* A refresh comes before the program hears of it: it hears of it all the same. */
static void
rows_go_unheard(void)
{
	struct cut c = begin("mem:cut");
	CLEAN(buf_free) struct buf said = {0};
	write_rows(&c, 0, ROWS);
	shorten(&c, LEFT, true);
	CHECK_INT(mount_refresh(c.mount, &said), 0);
	CHECK_INT(buf_add(&said, "", 1), 0);
	CHECK(strstr((const char *)said.data, "first 5 rows is lost"));
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), "first 5 rows is lost"));
	CHECK_INT(mount_refresh(c.mount, NULL), 0);
	CHECK_INT(cut_settle(&c), 0);
	write_rows(&c, 0, 3);
	CHECK_INT(cut_settle(&c), 0);
	check_chunk(&c, "t/2", "\1\11");
	cut_end(&c);
}

/* A write is under way when a thread of the mount finds it, which the file has not heard of yet: it
 * ends at the new end. */
static void
write_ends(void)
{
	struct cut c = begin("mem:cut");
	struct node *now = NULL;
	model_on_change(c.mount->model, NULL, NULL);
	put_rows(c.store, LEFT);
	CHECK_INT(model_look_again(c.mount->model, "t", &now), 0);
	variables_replaced(c.mount, "t", now);
	write_rows(&c, 0, LEFT);
	CHECK_INT(cut_settle(&c), 0);
	put_rows(c.store, 3);
	node_unref(now);
	CHECK_INT(model_look_again(c.mount->model, "t", &now), 0);
	variables_replaced(c.mount, "t", now);
	CHECK_INT(file_write(c.file, 2, (struct span){(const uint8_t *)"\7\7", 2}, &how, 0), -EIO);
	CHECK(strstr(err_text(), "has 3 bytes"));
	CHECK_INT(cut_settle(&c), -EIO);
	check_chunk(&c, "t/1", "\7\1"); /* the rest of it is the other writer's to clear */
	node_unref(now);
	cut_end(&c);
}

/* A writer that found the file as it was comes behind the cut: it hears of that, and the file goes
 * on. staged: something waits to be stored then. */
static void
late_write(bool staged)
{
	struct cut c = begin("mem:cut");
	struct flat *w = flats_find(c.mount, "t");
	struct flat_state st;
	const struct array_want all = {.len = ROWS};
	if (staged)
		write_rows(&c, 0, 1);
	flat_now(w, &st);
	shorten(&c, LEFT, true);
	CHECK_INT(array_write(flat_variable(st.layout)->array, &all, ones), -EIO);
	flat_state_done(&st);
	flat_put(w);
	write_rows(&c, 1, LEFT);
	CHECK_INT(cut_settle(&c), 0);
	check_chunk(&c, "t/0", staged ? "\1\1" : "\11\1");
	check_chunk(&c, "t/2", "\1\11");
	check_chunk(&c, "t/3", NULL);
	cut_end(&c);
}

/* A bucket's metadata are looked at when all is stored: a chunk that came too late for the other
 * writer to delete it goes again. */
static void
late_put_goes(void)
{
	struct cut c = begin(bucket);
	write_rows(&c, 6, ROWS);
	shorten(&c, LEFT, false);
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), "first 5 rows is lost"));
	check_chunk(&c, "t/3", NULL);
	cut_end(&c);
}

/* The store does not answer to the deletion: a program that looks at the file does not wait for it,
 * but the one that closes it does, and hears of what is lost. */
static void
looks_meanwhile(void)
{
	char switched[] = "/tmp/zarrfs-cut-XXXXXX", url[200];
	const int fd = mkstemp(switched);
	CHECK(fd >= 0);
	snprintf(url, sizeof url,
		"fault+mem:cut#fault.kind=hang&fault.calls=del&fault.remote=1&fault.file=%s",
		switched);
	struct cut c = begin(url);
	write_rows(&c, 6, ROWS);
	CHECK_INT(data_flush(c.mount->data, NULL), 0);
	check_chunk(&c, "t/3", "\1\1");
	shorten(&c, LEFT, true);
	CHECK_INT(close(fd), 0);
	CHECK_INT(unlink(switched), 0);
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), "first 5 rows is lost"));
	check_chunk(&c, "t/3", NULL);
	cut_end(&c);
}

/* A chunk with the end in it was put before the cut was known: when the array grows again, the rows
 * behind are fill. */
static void
rest_of_chunk(void)
{
	struct cut c = begin(bucket);
	uint8_t got[ROWS];
	write_rows(&c, 4, 6);
	cut_push(c.mount);
	check_chunk(&c, "t/2", "\1\1");
	shorten(&c, LEFT, true);
	CHECK_INT(file_truncate(c.file, 6, RESIZE_LONGER, NULL), 0);
	CHECK_INT(cut_settle(&c), 0);
	CHECK_INT(read_at(c.file, 0, ROWS, got), 6);
	CHECK_INT(got[5], 9);
	check_chunk(&c, "t/2", "\1\11");
	cut_end(&c);
}

/* Rows that were appended are put, and the metadata do not count them yet. */
static void
appended_rows_go(const char *url, const char *form, unsigned left, const char *why)
{
	chunks = form;
	struct cut c = begin(url);
	uint8_t got[2 * ROWS];
	write_rows(&c, ROWS, ROWS + 2);
	cut_push(c.mount);
	shorten(&c, left, true);
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), why));
	CHECK_INT(mount_refresh(c.mount, NULL), 0);
	CHECK_INT(file_truncate(c.file, ROWS + 2, RESIZE_LONGER, NULL), 0);
	CHECK_INT(cut_settle(&c), 0);
	CHECK_INT(read_at(c.file, 0, 2 * ROWS, got), ROWS + 2);
	CHECK(got[ROWS] == 9 && got[ROWS + 1] == 9);
	cut_end(&c);
	chunks = "[2]";
}

static struct cut *cutting;

/* The mount hears of the other writer when a chunk is about to be put. */
static int
play_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	struct cut *c = cutting;
	if (c && !strcmp(p->key, "t/2")) {
		cutting = NULL;
		shorten(c, LEFT, true);
	}
	return under->put(z, p, ret);
}

/* A chunk with the end in it is being put meanwhile: the rows behind go again. */
static void
rest_is_put_late(const char *url)
{
	struct cut c = begin(url);
	struct zmap_ops ops = *c.mount->zmap->ops;
	uint8_t got[ROWS];
	under = c.mount->zmap->ops;
	ops.submit = NULL;
	ops.put = play_put;
	c.mount->zmap->ops = &ops;
	write_rows(&c, 4, 6);
	cutting = &c;
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(!cutting);
	CHECK(strstr(err_text(), "first 5 rows is lost"));
	check_chunk(&c, "t/2", "\1\11");
	CHECK_INT(mount_refresh(c.mount, NULL), 0);
	CHECK_INT(file_truncate(c.file, 6, RESIZE_LONGER, NULL), 0);
	CHECK_INT(cut_settle(&c), 0);
	CHECK_INT(read_at(c.file, 0, ROWS, got), 6);
	CHECK(got[4] == 1 && got[5] == 9);
	c.mount->zmap->ops = under;
	cut_end(&c);
}

/* The call of array_cut in which a program appends a row, and the calls so far. */
static struct {
	struct cut *cut;
	unsigned call, calls;
	bool regrown; /* the other writer has appended rows before, which the mount hears of */
	bool done;
} append;

/* As soon as the file shows the new end. */
static void
append_row(void)
{
	struct flat *w = flats_find(append.cut->mount, "t");
	struct flat_state st;
	flat_now(w, &st);
	append.done = st.size == LEFT;
	flat_state_done(&st);
	if (append.done && append.regrown) {
		put_rows(append.cut->store, ROWS);
		CHECK_INT(flat_look_again(w), 0);
	}
	if (append.done)
		write_rows(append.cut, LEFT, LEFT + 1);
	flat_put(w);
}

/* The linker makes them array_cut(). */
void __real_array_cut(struct array *);
void __wrap_array_cut(struct array *);

void
__wrap_array_cut(struct array *a)
{
	if (append.cut && !append.done && ++append.calls == append.call)
		append_row();
	__real_array_cut(a);
}

/* The mount hears of the cut by a look at the metadata, or by a write under way that fails; a row
 * that it appends then is behind the new end, and none of those that are cut off. */
static void
append_meanwhile(bool heard, bool staged, unsigned call, bool regrown)
{
	struct cut c = begin("mem:cut");
	struct node *now = NULL;
	if (staged)
		write_rows(&c, 0, 1);
	append = (typeof(append)){.cut = &c, .call = call, .regrown = regrown};
	if (heard) {
		shorten(&c, LEFT, true);
	} else {
		model_on_change(c.mount->model, NULL, NULL);
		put_rows(c.store, LEFT);
		CHECK_INT(model_look_again(c.mount->model, "t", &now), 0);
		variables_replaced(c.mount, "t", now);
		write_rows(&c, 0, 1);
	}
	if (!append.done)
		append_row();
	CHECK(append.done);
	append.cut = NULL;
	CHECK_INT(cut_settle(&c), 0);
	check_chunk(&c, "t/2", "\11\1");
	check_chunk(&c, "t/3", NULL);
	node_unref(now);
	cut_end(&c);
}

int
main(void)
{
	for (unsigned i = 0; i < 2; i++) {
		append_meanwhile(true, i, 1, false);
		for (unsigned call = 1; call <= 2; call++) {
			append_meanwhile(false, i, call, false);
			append_meanwhile(false, i, call, true);
		}
	}
	rows_stay(true);
	rows_stay(false);
	rows_go(true);
	rows_go(false);
	rows_go_that_came(true);
	rows_go_that_came(false);
	rows_go_unheard();
	write_ends();
	late_write(true);
	late_write(false);
	late_put_goes();
	looks_meanwhile();
	rest_of_chunk();
	for (size_t i = 0; i < 2; i++) {
		rest_is_put_late(i ? bucket : "mem:cut");
		appended_rows_go(i ? bucket : "mem:cut", "[2]", LEFT, "first 5 rows is lost");
		appended_rows_go(i ? bucket : "mem:cut", "[5]", 6, "first 6 rows is lost");
	}
	return check_end();
}
