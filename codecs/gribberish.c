/* gribberish (zarr-extensions style codec of the library of that name): a chunk is one GRIB 2
 * message, whose values are the elements in the order in which the message has them; a missing
 * value is NaN. Decoding only, by ecCodes.
 *
 * ecCodes is loaded when an array needs it: it takes longer to load than most stores take to open.
 * It trusts its input and is not made for threads, so the message's sections are walked here first
 * (WMO FM 92 GRIB edition 2), and one thread is in it at a time. */
#include "base/check.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/lazy.h"
#include "codec/codec.h"
#include "codecs/number.h"

#include <eccodes.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* No value of a message: what a bitmap leaves out is set to it. */
static const double MISSING = -1.7e308;

enum {
	SCRATCH = 2,
	EDITION = 2,
	HEAD = 16,       /* bytes of section 0, "Indicator" */
	TAIL = 4,        /* of section 8, "7777" */
	LEAST = 5,       /* of any other: its length and its number */
	GRID = 3,        /* "Grid definition": number of points in octets 7-10, template in 13-14 */
	GRID_LEAST = 72, /* of most templates, with their scanning mode … */
	POLAR_LEAST = 65, /* … and of this one */
	PRODUCT = 4,
	PACKING = 5, /* "Data representation": number of values in octets 6-9 */
	PACKING_LEAST = 11,
	SIMPLE_LEAST = 20, /* of template 0, with its bits of a value */
	DATA = 7,
	SECTIONS = 8,
};
enum {
	NOT_BY_ROWS = 0x20 | 0x10 | 0x0f,
	J_UP = 0x40,
	I_DOWN = 0x80
}; /* scanning modes, table 3.4 */
static const uint32_t DEGREE_SIGN = UINT32_C(1) << 31;
static const double MICRO = 1e-6;

/* Templates of grids, table 3.1: regular latitudes and longitudes, and the others of whose rows
 * each is a latitude */
enum { REGULAR = 0, ROTATED = 3, POLAR = 20, GAUSSIAN = 40, GAUSSIAN_LAST = 43 };

enum what { VALUES, LATITUDES, LONGITUDES };

struct gribberish {
	enum what what;
	bool north_up;
	bool wrap; /* longitudes from -180 on */
};

/* Where what is needed lies in a message. */
struct message {
	const uint8_t *grid; /* section 3 */
	uint32_t grid_len;
	uint64_t bits; /* that the values take at least */
};

/* clang-format off */
#define ECCODES(F) \
	F(codes_context_get_default) F(codes_context_set_logging_proc) F(codes_get_double_array) \
	F(codes_get_error_message) F(codes_get_long) F(codes_get_size) F(codes_handle_delete) \
	F(codes_handle_new_from_message_copy) F(codes_set_double)
/* clang-format on */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* guards all of the library */
LAZY_LIBRARY(eccodes, ECCODES, "libeccodes.so.0")

/* What is wrong is said by the code that comes back, and not on stderr too. */
static void
no_log(const grib_context *c, int level, const char *text)
{
	(void)c, (void)level, (void)text;
}

static int
load_library(void)
{
	if (eccodes_load() < 0)
		return err_add(-ENOTSUP, "it needs ecCodes");
	LOCKED(&one_at_a_time)
		eccodes.codes_context_set_logging_proc(eccodes.codes_context_get_default(), no_log);
	return 0;
}

static bool
is_set(const struct json *config, const char *key)
{
	const struct json *j = config ? json_get(config, key) : NULL;
	return j && json_type(j) == JSON_TYPE_BOOL && json_bool(j);
}

static int
gribberish_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	if (!in->dtype || in->dtype->kind != DTYPE_FLOAT || in->dtype->size < sizeof(float))
		return err_set(-EINVAL, "only floats of 4 or 8 bytes can be made of a message");
	const struct json *var = config ? json_get(config, "var") : NULL;
	int r = load_library();
	struct gribberish *g = r < 0 ? NULL : calloc(1, sizeof *g);
	if (!g)
		return r < 0 ? r : err_set(-ENOMEM, "out of memory");
	g->what = var && json_is(var, "latitude")    ? LATITUDES
		  : var && json_is(var, "longitude") ? LONGITUDES
						     : VALUES;
	g->north_up = is_set(config, "north_up");
	g->wrap = is_set(config, "adjust_longitude_range");
	/* A message may have more digits than the elements; and along a coordinate it is that of
	 * the whole grid. */
	out->bytes = g->what == VALUES ? codec_worst(4 * in->bytes)
				       : codec_worst(in->bytes) + UINT32_MAX / 2;
	*ret = g;
	return 0;
}

static uint32_t
be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int
bad(const char *what)
{
	return err_set(-EIO, "no GRIB message that can be read: %s", what);
}

static unsigned
template_of(const uint8_t *grid)
{
	return (unsigned)grid[12] << 8 | grid[13];
}

/* One section behind the first. seen: how often each number came. */
static int
look_at_section(const uint8_t *p, uint32_t len, unsigned seen[static SECTIONS], struct message *ret)
{
	unsigned number = p[4];
	if (number < 1 || number >= SECTIONS)
		return bad("a section of unknown number");
	seen[number]++;
	if (number == GRID) {
		if (len < POLAR_LEAST || (len < GRID_LEAST && template_of(p) != POLAR))
			return bad("its grid is too short");
		ret->grid = p;
		ret->grid_len = len;
	}
	if (number == DATA && ret->bits / 8 > len - LEAST)
		return bad("its data are too short");
	if (number != PACKING)
		return 0;
	const bool simple = len >= PACKING_LEAST && !p[9] && !p[10];
	if (len < (simple ? SIMPLE_LEAST : PACKING_LEAST) || !ret->grid)
		return bad("its data have no grid, or their packing is too short");
	ret->bits = simple ? (uint64_t)be32(p + 5) * p[SIMPLE_LEAST - 1] : 0;
	return be32(p + 5) <= be32(ret->grid + 6) ? 0 : bad("more values than points");
}

/* All sections lie within the message, which holds one field. */
static int
look_at_message(struct span in, struct message *ret)
{
	unsigned seen[SECTIONS] = {0};
	*ret = (struct message){0};
	if (in.len < HEAD + TAIL || memcmp(in.data, "GRIB", 4) != 0)
		return bad("it does not begin with 'GRIB'");
	if (in.data[7] != EDITION)
		return bad("it is not of edition 2");
	uint64_t total = (uint64_t)be32(in.data + 8) << 32 | be32(in.data + 12);
	if (total != in.len || memcmp(in.data + in.len - TAIL, "7777", TAIL) != 0)
		return bad("its length is another one, or its end is missing");
	size_t at = HEAD, end = in.len - TAIL;
	while (at < end) {
		uint32_t len = end - at < LEAST ? 0 : be32(in.data + at);
		if (len < LEAST || len > end - at)
			return bad("a section reaches beyond it");
		int r = look_at_section(in.data + at, len, seen, ret);
		if (r < 0)
			return r;
		at += len;
	}
	if (seen[GRID] != 1 || seen[PRODUCT] != 1 || seen[PACKING] != 1 || seen[DATA] != 1)
		return bad("it holds no field, or several");
	return 0;
}

static void
store(const struct form *form, const double *from, uint64_t n, uint8_t *to)
{
	union number block[NUMBER_BLOCK];
	for (uint64_t i = 0; i < n; i += NUMBER_BLOCK) {
		size_t some = min_u64(n - i, NUMBER_BLOCK);
		for (size_t j = 0; j < some; j++)
			block[j].f = from[i + j] == MISSING ? (double)NAN : from[i + j];
		number_store(form->dtype, NUMBER_FLOAT, block, some, to + i * form->dtype->size);
	}
}

/* Degrees of template 3.0, whose sign is a bit of its own. */
static double
degrees(const uint8_t *p)
{
	uint32_t v = be32(p);
	double d = v & ~DEGREE_SIGN;
	return (v & DEGREE_SIGN ? -d : d) * MICRO;
}

static double
longitude(const uint8_t *grid, uint64_t i)
{
	double first = be32(grid + 50) * MICRO, step = be32(grid + 63) * MICRO,
	       v = first + (double)i * (grid[71] & I_DOWN ? -step : step);
	return v >= 360 ? v - 360 : v < 0 && first >= 0 ? v + 360 : v;
}

static double
wrapped(double longitude)
{
	return longitude >= 180 ? longitude - 360 : longitude;
}

/* Do longitudes start at -180? Of regular grids that go around the world eastwards, once. *ret: the
 * column that is the first then. */
static bool
wraps(const struct gribberish *g, const uint8_t *grid, uint64_t *ret)
{
	uint64_t n = be32(grid + 30);
	if (!g->wrap || template_of(grid) != REGULAR || n < 2)
		return false;
	double step = longitude(grid, 1) - longitude(grid, 0), least = INFINITY;
	if (step <= 0 || fabs(step * (double)n - 360) >= step / 4)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (wrapped(longitude(grid, i)) < least) {
			least = wrapped(longitude(grid, i));
			*ret = i;
		}
	return true;
}

/* The coordinates along one side of a regular grid of latitudes and longitudes: template 3.0. */
static int
coordinates(
	const struct gribberish *g, const struct form *form, const struct message *m, double *to)
{
	const uint8_t *p = m->grid;
	const bool lat = g->what == LATITUDES;
	const uint64_t n = form->count;
	uint64_t start = 0;
	if (template_of(p) != REGULAR || n != be32(p + (lat ? 34 : 30)))
		return err_set(-EIO,
			"coordinates of a grid of template %u are not made here, or their number "
			"is another one",
			template_of(p));
	const bool up = p[71] & J_UP;
	double first = degrees(p + 46), step = be32(p + 67) * MICRO * (up ? 1 : -1);
	if (lat) {
		for (uint64_t i = 0; i < n; i++)
			to[g->north_up && up ? n - 1 - i : i] = first + (double)i * step;
		return 0;
	}
	bool turned = wraps(g, p, &start);
	for (uint64_t i = 0; i < n; i++) {
		double v = longitude(p, (i + start) % n);
		to[i] = turned ? wrapped(v) : v;
	}
	return 0;
}

static void
reverse(double *values, uint64_t n)
{
	for (uint64_t a = 0; a + 1 < n; a++, n--) {
		double v = values[a];
		values[a] = values[n - 1];
		values[n - 1] = v;
	}
}

/* Each row begins at another column, where longitudes do. */
static int
rotate(const struct gribberish *g, const uint8_t *grid, double *values, uint64_t n)
{
	const unsigned template = template_of(grid);
	uint64_t start = 0, row = be32(grid + 30);
	if (g->wrap && ((template != REGULAR && template <= ROTATED) ||
			       (template >= GAUSSIAN && template <= GAUSSIAN_LAST)))
		return err_set(-EIO,
			"'adjust_longitude_range' of a grid of template %u is not supported",
			template);
	if (g->wrap && template == REGULAR && (!row || n % row))
		return bad("its grid has no rows of one length");
	if (!wraps(g, grid, &start))
		return 0;
	for (uint64_t at = 0; at < n && start; at += row) {
		reverse(values + at, start);
		reverse(values + at + start, row - start);
		reverse(values + at, row);
	}
	return 0;
}

/* Rows change places, so that the first is the northernmost one. */
static int
turn(const struct message *m, double *values, uint64_t n)
{
	uint64_t row = be32(m->grid + 30), rows = be32(m->grid + 34);
	if (!row || row > n || rows != n / row || n % row)
		return bad("its grid has no rows of one length");
	for (uint64_t a = 0, b = rows - 1; a < b; a++, b--)
		for (uint64_t i = 0; i < row; i++) {
			double v = values[a * row + i];
			values[a * row + i] = values[b * row + i];
			values[b * row + i] = v;
		}
	return 0;
}

static int
said(int code)
{
	return code ? err_set(-EIO, "ecCodes cannot decode the message: %s",
			      eccodes.codes_get_error_message(code))
		    : 0;
}

/* The lock is held. */
static int
unpack(codes_handle *h, uint64_t n, double *to, long *ret_scan)
{
	size_t have = 0, got = n;
	int r = said(eccodes.codes_get_size(h, "values", &have));
	if (r == 0 && have != n)
		r = err_set(-EIO, "a message of %zu values instead of %" PRIu64, have, n);
	if (r == 0)
		r = said(eccodes.codes_get_long(h, "scanningMode", ret_scan));
	if (r == 0)
		r = said(eccodes.codes_set_double(h, "missingValue", MISSING));
	if (r == 0)
		r = said(eccodes.codes_get_double_array(h, "values", to, &got));
	return r == 0 && got != n ? bad("values are missing") : r;
}

static int
values(const struct gribberish *g, const struct form *form, struct span in, const struct message *m,
	double *to)
{
	long scan = 0;
	int r = 0;
	LOCKED(&one_at_a_time) {
		codes_handle *h = eccodes.codes_handle_new_from_message_copy(NULL, in.data, in.len);
		r = h ? unpack(h, form->count, to, &scan) : bad("ecCodes refuses it");
		if (h)
			eccodes.codes_handle_delete(h);
	}
	if (r == 0 && scan & NOT_BY_ROWS)
		r = err_set(
			-EIO, "points in the order of scanning mode %ld are not supported", scan);
	if (r == 0)
		r = rotate(g, m->grid, to, form->count);
	return r == 0 && g->north_up && scan & J_UP ? turn(m, to, form->count) : r;
}

static int
gribberish_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct gribberish *g = state;
	struct message m;
	int r = look_at_message(in, &m);
	if (r == 0 && g->what == VALUES && be32(m.grid + 6) != form->count)
		r = err_set(-EIO, "a message of %" PRIu32 " values instead of %" PRIu64,
			be32(m.grid + 6), form->count);
	if (r < 0)
		return r;
	double *all = codec_scratch(SCRATCH, form->count * sizeof *all);
	if (!all)
		return err_set(-ENOMEM, "no memory for %" PRIu64 " values", form->count);
	r = g->what == VALUES ? values(g, form, in, &m, all) : coordinates(g, form, &m, all);
	if (r < 0)
		return r;
	store(form, all, form->count, out->data);
	out->len = form->count * form->dtype->size;
	return 0;
}

const struct codec_ops codec_gribberish = {
	.ids = (const char *const[]){"gribberish", NULL},
	.kind = CODEC_PACK,
	.open = gribberish_open,
	.close = free,
	.decode = gribberish_decode,
};
