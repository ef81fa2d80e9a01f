/* Rows are appended and stored; before metadata count them another program makes the array shorter,
 * which removes their chunk, and as long again. Meanwhile the mount sees the array as another one:
 * texts in another width, or while it is short. */
#include "cut.h"

enum { ROWS = 2, HEARS_SHORT = 1, HEARS_LONG = 2 };

#define TEXT "\"fill_value\": \"\", \"filters\": [{\"id\": \"vlen-utf8\"}]"
#define NARROW "\2\0\0\0\1\0\0\0a\1\0\0\0a"
#define WIDE "\2\0\0\0\1\0\0\0a\5\0\0\0aaaaa"

struct sort {
	const char *dtype, *more;
	const char *row; /* of one element */
	size_t bytes;
	const char *was, *is; /* all of chunk 0, which another program stores anew; or NULL */
	size_t was_len, is_len;
};

static const struct sort numbers = {"\"|i1\"", "\"fill_value\": 9", "\7", 1};
static const struct sort longer = {
	"\"|O\"", TEXT, "c", 1, NARROW, WIDE, sizeof NARROW - 1, sizeof WIDE - 1};
static const struct sort shorter = {
	"\"|O\"", TEXT, "c\0\0\0\0", 5, WIDE, NARROW, sizeof WIDE - 1, sizeof NARROW - 1};

static const struct array_want how;

static void
put_rows(struct cut *c, const struct sort *f, unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(c->store, "t", f->dtype, shape, "[2]", f->more);
}

static struct cut
begin(const struct sort *f, const char *url)
{
	struct cut c = cut_store("mem:cut", "[\"time\"]");
	put_rows(&c, f, ROWS);
	if (f->was)
		put_bytes(c.store, "t/0", f->was, f->was_len);
	cut_mount(&c, url, "t");
	return c;
}

static void
append(struct cut *c, const struct sort *f, unsigned row)
{
	const struct span b = {(const uint8_t *)f->row, f->bytes};
	CHECK_INT(file_write(c->file, row * f->bytes, b, &how, 0), 0);
	cut_push(c->mount);
}

/* removes: what is behind the new end, as zarr-python does. */
static void
shrink_and_grow(struct cut *c, const struct sort *f, bool removes, unsigned rows, unsigned hears)
{
	put_rows(c, f, 1);
	if (removes)
		CHECK_INT(zmap_del(c->store, &(struct zmap_del){.key = "t/1"}), 0);
	if (hears & HEARS_SHORT)
		cut_hear(c);
	if (f->is)
		put_bytes(c->store, "t/0", f->is, f->is_len);
	put_rows(c, f, rows);
	if (hears & HEARS_LONG)
		cut_hear(c);
}

/* It sticks until a refresh; then the next row can come. */
static void
check_lost(struct cut *c, const struct sort *f, const char *text, unsigned rows)
{
	for (int i = 0; i < 2; i++) {
		CHECK_INT(cut_settle(c), -EIO);
		CHECK(strstr(err_text(), text));
	}
	mount_refresh(c->mount, NULL);
	append(c, f, rows);
	CHECK_INT(cut_settle(c), 0);
}

static void
row_goes(const struct sort *f, const char *url, unsigned rows, unsigned hears, unsigned appended)
{
	struct cut c = begin(f, url);
	for (unsigned i = 0; i < appended; i++)
		append(&c, f, ROWS + i);
	shrink_and_grow(&c, f, true, rows, hears);
	check_lost(&c, f,
		hears & HEARS_SHORT ? "behind its first 1 rows is lost"
				    : "row 2 that was written to 't' is lost",
		rows);
	cut_end(&c);
}

/* The store has the row, as a mount that begins then sees. */
static void
check_row(const struct sort *f)
{
	uint8_t got[64] = {0};
	const size_t bytes = f->is_len == sizeof WIDE - 1 ? 5 : 1;
	struct mount_options o = options_new();
	struct mount *m = mount_new("mem:cut", &o);
	struct file *t = open_for(m, "t", O_RDONLY, 0);
	CHECK_INT(read_at(t, 0, sizeof got, got), (ROWS + 1) * bytes);
	CHECK_INT(got[ROWS * bytes], f->row[0]);
	file_close(t);
	mount_close(m);
}

/* again: another program stores the same chunk once more. */
static void
row_stays(const struct sort *f, const char *url, unsigned rows, unsigned hears, bool again)
{
	CLEAN(buf_free) struct buf chunk = {0};
	struct cut c = begin(f, url);
	append(&c, f, ROWS);
	const struct zmap_get g = {.key = "t/1", .into = &chunk, .max = 4096};
	CHECK_INT(zmap_get(c.store, &g, NULL), 0);
	shrink_and_grow(&c, f, false, rows, hears);
	if (again)
		put_bytes(c.store, "t/1", chunk.data, chunk.len);
	CHECK_INT(cut_settle(&c), 0);
	check_row(f);
	cut_end(&c);
}

/* One row is written once more when the mount knows of the other width. */
static void
one_is_stored_again(const struct sort *f, const char *url)
{
	struct cut c = begin(f, url);
	append(&c, f, ROWS);
	append(&c, f, ROWS + 1);
	shrink_and_grow(&c, f, true, ROWS, HEARS_LONG);
	append(&c, f, ROWS + 1);
	check_lost(&c, f, "row 2 that was written to 't' is lost", ROWS);
	cut_end(&c);
}

/* Rows of fill are as good without their chunk. */
static void
fill_goes(const char *url, unsigned hears)
{
	struct sort fill = numbers;
	fill.row = "\11";
	struct cut c = begin(&fill, url);
	append(&c, &fill, ROWS);
	shrink_and_grow(&c, &fill, true, ROWS, hears);
	CHECK_INT(cut_settle(&c), 0);
	cut_end(&c);
}

static void
all_of(const struct sort *f, const char *url)
{
	for (unsigned rows = ROWS; rows <= ROWS + 2; rows++)
		for (unsigned hears = 0; hears <= (HEARS_SHORT | HEARS_LONG); hears++) {
			row_goes(f, url, rows, hears, 1);
			row_goes(f, url, rows, hears, 2);
		}
	for (unsigned rows = ROWS; rows <= ROWS + 1; rows++)
		for (int i = 0; i < 4; i++)
			row_stays(f, url, rows, i & 1 ? HEARS_LONG : 0, i & 2);
	one_is_stored_again(f, url);
}

int
main(void)
{
	for (int i = 0; i < 2; i++) {
		const char *url = i ? "fault+mem:cut#fault.kind=none&fault.remote=1" : "mem:cut";
		all_of(&numbers, url);
		all_of(&longer, url);
		all_of(&shorter, url);
		for (unsigned hears = 0; hears <= (HEARS_SHORT | HEARS_LONG); hears++)
			fill_goes(url, hears);
	}
	return check_end();
}
