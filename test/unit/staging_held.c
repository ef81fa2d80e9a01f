/* One array is in a long truncate, and nothing of it is stored meanwhile, though what waits of it
 * takes most of the memory: what is written to another one is stored, and its writers go on. */
#include "staging.h"

#include <errno.h>

enum { TRUNCATED, OTHER };
enum { CHUNK = 1 << 20, CHUNKS = 64, PART = CHUNK - 4096, MOST = 8, OTHERS = 12 };

/* The bytes that writers may leave waiting are 8 chunks; from 6 on they are pushed out. */
static const struct data_options options = {.memory = 16 * CHUNK, .workers = 2, .ttl = INT64_MAX};
static const struct written_kind kind = {
	"chunks", {.kind = DTYPE_UINT, .size = 1}, {{NULL}}, false};
/* A writer that does wait gives up. */
static const int64_t PATIENCE = 20 * SECOND;

/* The arrays of one mount. */
struct both {
	struct written_array form;
	struct written side;
	struct array *array[2];
};

/* From the beginning of a chunk. */
static int
write_chunk(struct both *b, unsigned which, unsigned chunk, size_t bytes, int64_t patience)
{
	const struct array_want want = {
		.off = (uint64_t)chunk * CHUNK, .len = bytes, .deadline = clock_now() + patience};
	uint8_t *ones = malloc(bytes);
	memset(ones, 1, bytes);
	const int r = array_write(b->array[which], &want, ones);
	free(ones);
	return r;
}

static void
begin(struct both *b, struct zmap *z)
{
	written_begin_as(&b->form, &kind,
		&(struct written_shape){1, {(uint64_t)CHUNK * CHUNKS}, {CHUNK}, {0}});
	written_open(&b->form, z, &options, &b->side);
	for (unsigned i = 0; i < 2; i++)
		CHECK_INT(array_open(b->side.data, z, i ? "other" : "truncated", &b->form.meta, 1,
				  &b->array[i]),
			0);
}

static void
end(struct both *b)
{
	for (unsigned i = 0; i < 2; i++)
		array_unref(b->array[i]);
	written_close(&b->side);
	written_end(&b->form);
}

static void
check_stored(struct zmap *z, const char *name, unsigned chunks)
{
	char key[16];
	struct zmap_stat now;
	for (unsigned i = 0; i < chunks; i++) {
		snprintf(key, sizeof key, "%s/%u", name, i);
		CHECK_INT(zmap_stat(z, key, &now), 0);
	}
}

/* bytes: that wait of each chunk of the array that is truncated. */
static void
test(size_t bytes)
{
	struct both b;
	struct array_behind *behind = NULL;
	struct zmap *z = store_open("", "mem", "held", true);
	begin(&b, z);
	CHECK_INT(array_look_behind(b.array[TRUNCATED], (uint64_t)CHUNK * (CHUNKS - 1),
			  (uint64_t)CHUNK * CHUNKS, NULL, &behind),
		0);
	for (unsigned i = 0; i < MOST - 1; i++)
		CHECK_INT(write_chunk(&b, TRUNCATED, i, bytes, PATIENCE), 0);
	for (unsigned i = 0; i < OTHERS && !check_failed; i++)
		CHECK_INT(write_chunk(&b, OTHER, i, PART, PATIENCE), 0);
	CHECK_INT(array_flush(b.array[OTHER], NULL), 0);
	/* a writer of what is truncated waits, and leaves no more than that */
	CHECK_INT(write_chunk(&b, TRUNCATED, MOST - 1, PART, PATIENCE), 0);
	CHECK_INT(write_chunk(&b, TRUNCATED, MOST, PART, 0), -EIO);
	CHECK(strstr(err_text(), "not stored in time"));
	/* but others go on, though that alone is too much */
	for (unsigned i = 0; i < OTHERS && !check_failed; i++)
		CHECK_INT(write_chunk(&b, OTHER, OTHERS + i, PART, PATIENCE), 0);
	CHECK(written_stat(&b.side, "zarrfs_staged_bytes ") < (MOST + 3) * CHUNK);
	array_behind_free(behind);
	CHECK_INT(data_flush(b.side.data, NULL), 0);
	check_stored(z, "truncated", MOST);
	check_stored(z, "other", 2 * OTHERS);
	end(&b);
	zmap_close(z);
}

int
main(void)
{
	test(CHUNK);
	test(PART);
	return check_end();
}
