/* The conformance corpus, where there is one: each V2 directory store, mounted from above and
 * alone, without a kernel, gives the bytes that it is known to hold. ZARRFS_CORPUS names the folder
 * with expected.tsv, beside the archives or what was unpacked. */
#include "mounted.h"
#include "store.h"

#include "base/log.h"

enum { SKIP = 77, PART = 100003 };

/* FIPS 180-4. */
struct sha {
	uint32_t h[8];
	uint64_t len;
	uint8_t block[64];
};

static uint32_t sha_k[64];

__extension__ typedef unsigned __int128 wide;

/* The first 32 bits of the fractional parts of the square (cube) roots of the first primes. */
static uint32_t
root_bits(unsigned prime, bool cube)
{
	wide lo = 0, hi = (wide)1 << 40, target = (wide)prime << 64;
	/* Largest x with (x / 2^32)^2 <= prime, or, 96 bits on, ^3. */
	while (hi - lo > 1) {
		wide mid = (lo + hi) / 2;
		bool below = cube ? mid * mid * mid >> 32 <= target : mid * mid <= target;
		if (below)
			lo = mid;
		else
			hi = mid;
	}
	return (uint32_t)lo;
}

static struct sha
sha_start(void)
{
	struct sha s = {0};
	unsigned n = 0;
	for (unsigned p = 2; n < 64; p++) {
		bool prime = true;
		for (unsigned d = 2; d * d <= p; d++)
			prime &= p % d != 0;
		if (!prime)
			continue;
		if (n < 8)
			s.h[n] = root_bits(p, false);
		sha_k[n++] = root_bits(p, true);
	}
	return s;
}

static uint32_t
turn(uint32_t v, unsigned by)
{
	return v >> by | v << (32 - by);
}

static void
sha_block(struct sha *s)
{
	uint32_t w[64], v[8];
	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
		       (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
	for (unsigned i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, s->h, sizeof v);
	for (unsigned i = 0; i < 64; i++) {
		uint32_t a = v[0], e = v[4];
		uint32_t t1 = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
			      ((e & v[5]) ^ (~e & v[6])) + sha_k[i] + w[i];
		uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
			      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof v[0]);
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (unsigned i = 0; i < 8; i++)
		s->h[i] += v[i];
}

static void
sha_add(struct sha *s, const void *data, size_t n)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < n; i++) {
		s->block[s->len++ % 64] = p[i];
		if (s->len % 64 == 0)
			sha_block(s);
	}
}

static void
sha_end(struct sha *s, char ret[65])
{
	uint64_t bits = 8 * s->len;
	sha_add(s, "\x80", 1);
	while (s->len % 64 != 56)
		sha_add(s, "", 1);
	for (int i = 56; i >= 0; i -= 8)
		sha_add(s, &(uint8_t){(uint8_t)(bits >> i)}, 1);
	for (unsigned i = 0; i < 8; i++)
		snprintf(ret + (size_t)8 * i, 9, "%08x", s->h[i]);
}

struct row {
	char *store, *array, *shape, *dtype, *want, *note;
};

static uint64_t
count_of(const char *shape)
{
	uint64_t n = 1;
	for (const char *p = shape; *p; p++)
		if (*p >= '0' && *p <= '9')
			n *= strtoull(p, (char **)&p, 10), p--;
	return n;
}

/* Each element as its length and its bytes: as readers of variable-length strings see them. */
static void
add_elements(struct sha *s, const uint8_t *data, uint64_t size, uint64_t count)
{
	uint64_t width = count ? size / count : 0;
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *e = data + i * width;
		uint32_t len = (uint32_t)width;
		while (len && !e[len - 1])
			len--;
		sha_add(s, &len, 4);
		sha_add(s, e, len);
	}
}

/* 0 and the hash; what open or read said. */
static int
hash_file(struct mount *m, const char *path, const struct row *row, char ret[65])
{
	struct file *f = NULL;
	int64_t r = open_path(m, path, &f);
	if (r)
		return (int)r;
	uint64_t size = file_size(f), at = 0;
	uint8_t *data = malloc(size + PART);
	while (r >= 0 && at < size) {
		r = read_at(f, at, PART, data + at);
		CHECK(r != 0);
		at += r > 0 ? (uint64_t)r : size;
	}
	file_close(f);
	struct sha s = sha_start();
	if (strncmp(row->dtype, "|O", 2) == 0)
		add_elements(&s, data, size, count_of(row->shape));
	else
		sha_add(&s, data, size);
	sha_end(&s, ret);
	free(data);
	return r < 0 ? (int)r : 0;
}

static bool
refusal_is_right(const struct row *row)
{
	return !strncmp(row->want, "MUST_FAIL", 9) || !strncmp(row->want, "UNSUPPORTED", 11) ||
	       strstr(row->note, "filt=json2") || strstr(row->note, "filt=msgpack2") ||
	       strstr(row->note, "filt=vlen-array");
}

static void
check_row(struct mount *m, const char *path, const struct row *row)
{
	char got[65] = "";
	int r = hash_file(m, path, row, got);
	bool right = r ? refusal_is_right(row) : strstr(row->want, got) != NULL;
	if (!strncmp(row->want, "SKIP", 4) || !strncmp(row->want, "UNKNOWN", 7))
		return;
	if (right)
		return;
	check_failed++;
	fprintf(stderr, "%s %s: %d (%s), %s, not %s\n  %s\n", row->store, row->array, r,
		r ? err_text() : "", got, row->want, row->note);
}

/* The store mounted alone; its only file where it is a single array. */
static void
check_alone(const char *folder, const struct row *row, const struct mount_options *o)
{
	char path[1024];
	struct mount *m = NULL;
	snprintf(path, sizeof path, "%s/%s", folder, row->store);
	int r = mount_open(path, o, &m);
	if (r < 0 && refusal_is_right(row))
		return;
	CHECK_INT(r, 0);
	if (r == 0)
		check_row(m, *row->array ? row->array : strrchr(row->store, '/') + 1, row);
	mount_close(m);
}

static bool
split(char *line, struct row *ret)
{
	char **field[] = {
		&ret->store, &ret->array, &ret->shape, &ret->dtype, &ret->want, &ret->note};
	line[strcspn(line, "\n")] = 0;
	for (unsigned i = 0; i < 6; i++)
		if (!(*field[i] = strsep(&line, "\t")))
			return false;
	return true;
}

static bool
is_folder(const char *folder, const char *name)
{
	char path[1024];
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static unsigned
check_rows(FILE *expected, const char *folder)
{
	struct mount_options o = options_new();
	struct mount *above = mount_new(folder, &o);
	char *line = NULL, path[2048];
	size_t room = 0;
	unsigned rows = 0;
	while (getline(&line, &room, expected) > 0) {
		struct row row;
		if (*line == '#' || !split(line, &row) || strncmp(row.store, "synthetic_v2/", 13) ||
			!is_folder(folder, row.store))
			continue;
		snprintf(path, sizeof path, "%s%s%s", row.store, *row.array ? "/" : "", row.array);
		check_row(above, path, &row);
		check_alone(folder, &row, &o);
		rows++;
	}
	free(line);
	mount_close(above);
	return rows;
}

int
main(void)
{
	const char *folder = getenv("ZARRFS_CORPUS");
	char path[1024], command[4096], got[65];
	struct sha s = sha_start();
	sha_add(&s, "abc", 3);
	sha_end(&s, got);
	CHECK_STR(got, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	folder = folder ? folder : "../../shared/corpus";
	snprintf(path, sizeof path, "%s/expected.tsv", folder);
	FILE *expected = fopen(path, "r");
	if (!expected) {
		fprintf(stderr, "no corpus in '%s'\n", folder);
		return check_failed ? EXIT_FAILURE : SKIP;
	}
	struct place place = place_new();
	if (!is_folder(folder, "synthetic_v2")) {
		snprintf(command, sizeof command, "tar -C '%s' -xJf '%s/zarr-v2.tar.xz'",
			place.path, folder);
		CHECK_INT(system(command), 0);
		folder = place.path;
	}
	unsigned rows = check_rows(expected, folder);
	fprintf(stderr, "%u rows, %d differ\n", rows, check_failed);
	CHECK(rows > 100);
	fclose(expected);
	place_remove(&place);
	return check_end();
}
