/* Pictures: their sizes are known before they are drawn, the files are PNG, names that lead to
 * none, what counts as most of the numbers. */
#include "mounted.h"

#include "view/picture/picture.h"
#include "view/state.h"

#include <math.h>
#include <unistd.h>
#include <zlib.h>

static uint32_t seed = 5;

static uint32_t
number_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t
stat_of(struct mount *m, const char *name)
{
	const char *found = strstr(text_of(m, ".zarrfs/stats"), name);
	CHECK(found);
	return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

/* A file that was read. */
struct image {
	uint32_t width, height;
	unsigned channels;
	uint8_t *pixel; /* with the byte before each row */
};

/* By zlib alone: chunks in their order, their checksums, the stream, the kind of each row. */
static bool
parse(const uint8_t *file, size_t len, struct image *ret)
{
	static const unsigned channels[] = {[2] = 3, [3] = 1, [6] = 4};
	const uint8_t *p = file + 8, *end = file + len;
	char order[64] = "";
	bool good = len > 8 && !memcmp(file, "\x89PNG\r\n\x1a\n", 8);
	while (good && end - p >= 12) {
		uint32_t n = number_at(p);
		good = n <= end - p - 12 && crc32(0, p + 4, n + 4) == number_at(p + 8 + n);
		if (!good)
			break;
		snprintf(order + strlen(order), sizeof order - strlen(order), "%.4s ", p + 4);
		if (!memcmp(p + 4, "IHDR", 4)) {
			*ret = (struct image){number_at(p + 8), number_at(p + 12), channels[p[17]]};
			good = n == 13 && p[16] == 8 && !p[18] && !p[19] && !p[20];
		}
		if (!memcmp(p + 4, "IDAT", 4)) {
			uLongf size = (uLongf)ret->height *
				      (1 + (uLongf)ret->width * ret->channels),
			       got = size;
			ret->pixel = malloc(size);
			good = uncompress(ret->pixel, &got, p + 8, n) == Z_OK && got == size;
		}
		p += 12 + n;
	}
	CHECK_STR(order, ret->channels == 1 ? "IHDR PLTE tRNS IDAT IEND " : "IHDR IDAT IEND ");
	for (uint32_t y = 0; good && y < ret->height; y++)
		good = !ret->pixel[y * (1 + (size_t)ret->width * ret->channels)];
	return good && p == end;
}

/* The file as the mount gives it, in requests of a drawn size. */
static struct image
read_image(struct mount *m, const char *path)
{
	struct image i = {0};
	struct entry e = {0};
	struct file *f = NULL;
	CHECK_INT(mount_lookup(m, path, &e), 0);
	CHECK_INT(open_path(m, path, &f), 0);
	uint8_t *file = malloc(e.size + 1);
	uint64_t at = 0;
	for (int64_t n = 1; f && n > 0; at += (uint64_t)n) {
		size_t most = 1 + check_random(&seed) % 300000;
		n = read_at(f, at, most < e.size + 1 - at ? most : e.size + 1 - at, file + at);
		CHECK(n >= 0);
		n = n < 0 ? 0 : n;
	}
	CHECK_INT(at, e.size);
	CHECK(parse(file, at, &i));
	file_close(f);
	free(file);
	entry_free(&e);
	return i;
}

static void
check_sides(struct mount *m, const char *path, uint32_t most)
{
	struct image i = read_image(m, path);
	uint32_t longer = i.width > i.height ? i.width : i.height;
	CHECK(i.width <= most && i.height <= most + 120 && longer >= (most < 256 ? most : 256));
	free(i.pixel);
}

/* Shapes of every rank, large and small, of which no chunk is stored. */
static void
test_sizes(void)
{
	static const struct {
		const char *name, *dtype, *shape, *chunks;
	} row[] = {
		{"a", "\"<f4\"", "[1]", "[1]"},
		{"b", "\"<f8\"", "[7]", "[3]"},
		{"c", "\"<i2\"", "[1000000]", "[1000]"},
		{"d", "\"<i8\"", "[1000000000000]", "[1000000]"},
		{"e", "\"|u1\"", "[1, 1]", "[1, 1]"},
		{"f", "\"<f4\"", "[1, 1000000]", "[1, 100000]"},
		{"g", "\"<f4\"", "[1000000, 1]", "[100000, 1]"},
		{"h", "\"<f4\"", "[3, 1000000]", "[1, 1000]"},
		{"i", "\"<f8\"", "[1000000, 1000000]", "[1000, 1000]"},
		{"j", "\"<f4\"", "[721, 1440]", "[100, 100]"},
		{"k", "\"|b1\"", "[2, 255, 257]", "[1, 255, 257]"},
		{"l", "\"<c8\"", "[2, 2, 1023, 1025]", "[1, 1, 100, 1000]"},
		{"m", "\"<M8[s]\"", "[2, 2, 2, 1024, 10]", "[1, 1, 1, 64, 10]"},
		{"n", "\"|u1\"", "[2, 2, 2, 2000, 30]", "[1, 1, 1, 64, 10]"},
		{"rgb", "\"|u1\"", "[300, 200, 3]", "[64, 64, 3]"},
		{"rgba", "\"|u1\"", "[2, 3000, 200, 4]", "[1, 64, 64, 1]"},
	};
	struct zmap *z = store_new("mem:sizes");
	struct mount_options o = options_new();
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		put_meta(z, row[i].name, row[i].dtype, row[i].shape, row[i].chunks,
			"\"fill_value\": 0");
	for (o.picture = 128; o.picture <= 2048; o.picture *= 4) {
		struct mount *m = mount_new("mem:sizes", &o);
		for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
			char path[16];
			snprintf(path, sizeof path, "%s.png", row[i].name);
			uint64_t before = stat_of(m, "zarrfs_chunk_absent_total ");
			check_sides(m, path, o.picture);
			uint64_t n = stat_of(m, "zarrfs_chunk_absent_total ") - before;
			if (n > 256)
				fprintf(stderr, "%s takes %ju chunks\n", path, (uintmax_t)n);
			CHECK(n <= 256);
		}
		mount_close(m);
	}
	zmap_close(z);
}

static void
check_none(struct mount *m, const char *path)
{
	struct entry e = {0};
	int r = mount_lookup(m, path, &e);
	if (r != ZMAP_ABSENT)
		fprintf(stderr, "%s: %d\n", path, r);
	CHECK_INT(r, ZMAP_ABSENT);
	entry_free(&e);
}

static void
test_names(void)
{
	static const char *const there[] = {"v.png", "v.0.png", "v.1.png", "v.1.2.png", "v.0.0.png",
		"v.1.0.png", "v.1.png.png", NULL};
	static const char *const none[] = {"v.2.png", "v.0.3.png", "v.1.2.0.png", "v..png",
		"v.+1.png", "v.00.png", "v.01.png", "v.-1.png", "v.1..png", "v.a.png", "v.1e0.png",
		"v. 1.png", "v.4294967296.png", "v.18446744073709551616.png", "v.1.png.1", "v.1",
		".1.png", "v.1.csv", "v.1.nc", "w.0.png", "curve.0.png", "scalar.png", "text.png",
		"unicode.png", "struct.png", "raw.png", "empty.png", "none.png", "none.1.png",
		"g.png", "g/v.png", "odd.png", NULL};
	struct zmap *z = store_new("mem:names");
	const struct mount_options o = options_new();
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_text(z, "g/.zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "v", "\"<f4\"", "[2, 3, 4, 5]", "[1, 1, 4, 5]", "\"fill_value\": 0");
	put_meta(z, "v.1.png", "\"<f4\"", "[4, 5]", "[4, 5]", "\"fill_value\": 0");
	put_meta(z, "w", "\"<f4\"", "[4, 5]", "[4, 5]", "\"fill_value\": 0");
	put_meta(z, "curve", "\"<f4\"", "[4]", "[4]", "\"fill_value\": 0");
	put_meta(z, "scalar", "\"<f4\"", "[]", "[]", "\"fill_value\": 0");
	put_meta(z, "empty", "\"<f4\"", "[0, 4]", "[1, 4]", "\"fill_value\": 0");
	put_meta(z, "text", "\"|S3\"", "[4, 5]", "[4, 5]", "\"fill_value\": null");
	put_meta(z, "unicode", "\"<U3\"", "[4, 5]", "[4, 5]", "\"fill_value\": null");
	put_meta(z, "raw", "\"|V3\"", "[4, 5]", "[4, 5]", "\"fill_value\": null");
	put_meta(z, "struct", "[[\"a\", \"<f4\"]]", "[4, 5]", "[4, 5]", "\"fill_value\": null");
	put_meta(z, "odd", "\"<f4\"", "[4, 5]", "[4, 5]",
		"\"fill_value\": 0, \"filters\": [{\"id\": \"nope\"}]");
	struct mount *m = mount_new("mem:names", &o);
	for (const char *const *p = there; *p; p++) {
		struct entry e = {0};
		CHECK_INT(mount_lookup(m, *p, &e), 0);
		CHECK((strcmp(*p, "v.1.png") == 0) == (e.size == 80)); /* a variable of that name */
		entry_free(&e);
	}
	for (const char *const *p = none; *p; p++)
		check_none(m, *p);
	mount_close(m);
	zmap_close(z);
}

/* One chunk is more than may be decoded: there is a file, which does not open. */
static void
test_too_large(void)
{
	struct zmap *z = store_new("mem:large");
	const struct mount_options o = options_new();
	struct entry e = {0};
	struct file *f = NULL;
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "v", "\"<f8\"", "[100000, 100000]", "[10000, 10000]", "\"fill_value\": 0");
	struct mount *m = mount_new("mem:large", &o);
	CHECK_INT(mount_lookup(m, "v.png", &e), 0);
	CHECK_INT(e.size, 1);
	CHECK_INT(file_open(m, &e, &f), -EFBIG);
	CHECK(strstr(err_text(), "512 MiB"));
	entry_free(&e);
	mount_close(m);
	zmap_close(z);
}

/* Four numbers, one of them missing, as blocks of pixels: the least and the largest have the ends
 * of the colours. */
static void
test_pixels(void)
{
	struct zmap *z = store_new("mem:pixels");
	const struct mount_options o = options_new();
	const float v[4] = {1, 3, -999, 2};
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "v", "\"<f4\"", "[2, 2]", "[2, 2]", "\"fill_value\": -999");
	put_text(z, "v/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"y\", \"x\"]}");
	put_bytes(z, "v/0.0", v, sizeof v);
	struct mount *m = mount_new("mem:pixels", &o);
	struct image i = read_image(m, "v.png");
	CHECK_INT(i.width, 256);
	const size_t row = 1 + i.width, top = 1 + 10 * row, bottom = 1 + 200 * row;
	CHECK_INT(i.pixel[top + 10], INK_VALUES);
	CHECK_INT(i.pixel[top + 127], INK_VALUES);
	CHECK_INT(i.pixel[top + 128], INK_VALUES + SHADES - 1);
	CHECK_INT(i.pixel[bottom + 10], INK_NONE);
	CHECK_INT(i.pixel[bottom + 250], INK_VALUES + SHADES / 2);
	free(i.pixel);
	CHECK_INT(stat_of(m, "zarrfs_pictures_drawn_total "), 1);
	free(read_image(m, "v.png").pixel);
	CHECK_INT(stat_of(m, "zarrfs_pictures_drawn_total "), 1);
	mount_close(m);
	zmap_close(z);
}

enum { PICTURES = 20, PIECE = 4096, BEGINNING = 250000 };

/* Opens picture i of the array v, and reads so many bytes of it. */
static struct file *
begin_picture(struct mount *m, int i, size_t n)
{
	static uint8_t piece[BEGINNING];
	struct file *f = NULL;
	char path[32];
	snprintf(path, sizeof path, "v.%d.png", i);
	CHECK_INT(open_path(m, path, &f), 0);
	CHECK_INT(read_at(f, 0, n, piece), (int64_t)n);
	return f;
}

/* Pictures in the midst of which readers are stay, however long those pause, as long as the files
 * are open; of files that were closed none stays. So each is drawn once, though no more than seven
 * are kept. */
static void
test_paused_readers(struct mount *m)
{
	enum { PAUSED = 3, PAUSE = 600000 };
	struct file *f[PAUSED];
	uint8_t piece[PIECE];
	for (int i = 0; i < PAUSED; i++)
		f[i] = begin_picture(m, i, PIECE);
	usleep(PAUSE);
	for (int i = PAUSED; i < PICTURES; i++)
		file_close(begin_picture(m, i, PIECE));
	for (int i = 0; i < PAUSED; i++) {
		CHECK_INT(read_at(f[i], PIECE, sizeof piece, piece), sizeof piece);
		file_close(f[i]);
	}
	CHECK_INT(stat_of(m, "zarrfs_pictures_drawn_total "), PICTURES);
}

/* The beginnings of all are read before the rest of one is: where not all can be kept, the rest of
 * each is. */
static void
test_beginnings(struct mount *m)
{
	struct file *f[PICTURES];
	uint8_t piece[PIECE];
	for (int i = 0; i < PICTURES; i++)
		f[i] = begin_picture(m, i, BEGINNING);
	for (int i = 0; i < PICTURES; i++) {
		CHECK_INT(read_at(f[i], file_size(f[i]) - 12, sizeof piece, piece), 12);
		CHECK(!memcmp(piece + 4, "IEND", 4));
	}
	CHECK_INT(stat_of(m, "zarrfs_pictures_drawn_total "), PICTURES);
	CHECK_INT(read_at(f[0], PIECE, sizeof piece, piece), sizeof piece);
	CHECK_INT(stat_of(m, "zarrfs_pictures_drawn_total "), PICTURES + 1);
	for (int i = 0; i < PICTURES; i++)
		file_close(f[i]);
}

static void
test_readers(void (*test)(struct mount *))
{
	struct zmap *z = store_new("mem:readers");
	struct mount_options o = options_new();
	o.data.memory = 16 << 20;
	o.data.ttl =
		INT64_MAX; /* however slow a sanitizer makes it, none is drawn again for its age */
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "v", "\"<f4\"", "[20, 500, 500]", "[1, 500, 500]", "\"fill_value\": 0");
	struct mount *m = mount_new("mem:readers", &o);
	test(m);
	mount_close(m);
	zmap_close(z);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static void
test_quantiles(void)
{
	enum { MOST = 3000 };
	static double v[MOST], sorted[MOST];
	for (int round = 0; round < 40; round++) {
		size_t n = 1 + check_random(&seed) % MOST, finite = 0;
		for (size_t i = 0; i < n; i++) {
			double drawn = (double)check_random(&seed) / 1e6 - 2000;
			uint32_t kind = check_random(&seed) % 20;
			v[i] = kind == 0   ? (double)NAN
			       : kind == 1 ? (double)INFINITY
			       : kind == 2 ? -(double)INFINITY
			       : kind == 3 ? 0.0
			       : kind == 4 ? -0.0
			       : round % 2 ? drawn
					   : floor(drawn / 100);
			if (isfinite(v[i]))
				sorted[finite++] = v[i];
		}
		qsort(sorted, finite, sizeof *sorted, by_value);
		for (int k = 0; k <= 50; k++) {
			double part = k / 50.0, got = -12345, at = part * (double)(finite - 1);
			picture_quantile(v, n, part, &got);
			if (!finite) {
				CHECK(got == -12345);
				continue;
			}
			size_t low = (size_t)at, high = low + (low + 1 < finite);
			double want =
				sorted[low] + (sorted[high] - sorted[low]) * (at - (double)low);
			CHECK(fabs(got - want) <= 1e-9);
		}
	}
}

static struct glyph
glyph_of(const char *text, size_t *ret_len)
{
	struct glyph g = {.width = 0};
	*ret_len = font_next(text, strlen(text), &g);
	return g;
}

static bool
same_glyph(const char *a, const char *b)
{
	size_t len;
	struct glyph x = glyph_of(a, &len), y = glyph_of(b, &len);
	return x.width == y.width && !memcmp(x.row, y.row, sizeof x.row);
}

/* Each letter is another one; those with marks, and what is none at all. */
static void
test_font(void)
{
	size_t len;
	for (char a = ' '; a < 0x7f; a++)
		for (char b = ' '; b < a; b++)
			if (same_glyph((char[]){a, 0}, (char[]){b, 0})) {
				fprintf(stderr, "'%c' looks like '%c'\n", a, b);
				CHECK(false);
			}
	CHECK(same_glyph("\u00e9", "e") && same_glyph("\u00c4", "A") && same_glyph("\u2212", "-"));
	CHECK(same_glyph("\u03bc", "\u00b5") && !same_glyph("\u00b5", "u"));
	CHECK(same_glyph("\u4e2d", "\xff") && same_glyph("\n", " "));
	CHECK_INT(glyph_of("\u0301x", &len).width, 0);
	CHECK_INT(len, 2);
	glyph_of("\xe2\x82", &len);
	CHECK_INT(len, 1);
}

/* Texts that are too long, wide or of no width at all end within their room, and cost nothing. */
static void
test_texts(void)
{
	enum { LONG = 1 << 20, WIDTH = 200, ROOM = 150 };
	char *text = malloc(LONG + 1);
	struct canvas c = {0};
	CHECK_INT(canvas_new(WIDTH, 40, 1, &c), 0);
	for (int kind = 0; kind < 3; kind++) {
		for (int i = 0; i < LONG; i += 2)
			memcpy(text + i, kind == 0 ? "WM" : kind == 1 ? "\u0301" : "\xff.", 2);
		text[LONG] = 0;
		canvas_fill(&c, 0, 0, WIDTH, 40, INK_PAPER);
		canvas_write(
			&c, &(struct canvas_text){4, 4, 2, .most = ROOM, .ink = INK_TEXT}, text);
		int last = 0;
		for (int i = 0; i < WIDTH * 40; i++)
			if (c.pixel[i] == INK_TEXT && i % WIDTH > last)
				last = i % WIDTH;
		CHECK(last < 4 + ROOM);
		CHECK(kind == 1 || last > ROOM / 2);
	}
	canvas_free(&c);
	free(text);
}

int
main(void)
{
	test_font();
	test_texts();
	test_quantiles();
	test_pixels();
	test_readers(test_paused_readers);
	test_readers(test_beginnings);
	test_names();
	test_too_large();
	test_sizes();
	return check_failed != 0;
}
