/* Icechunk files in which each word in turn is a count of 10⁹, points outside, at the beginning or
 * at itself: a message, or what is there, in little memory; and snapshots that are their own
 * ancestors. */
#include "../fuzz/icechunk.c" /* all that can be asked of a file */

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

enum {
	HEAD = 39,
	SLOT_PARENT = 1,
	SLOT_TAGS = 1,
	SLOT_BRANCHES = 2,
	SLOT_SNAPSHOTS = 4,
	MOST_KIB = 1 << 20 /* a table of 10⁹ would take four times that */
};

static void
read_file(const char *name, struct buf *ret)
{
	char path[4096];
	uint8_t bytes[8192];
	snprintf(path, sizeof path, "%s/fuzz/icechunk/%s", getenv("ZARRFS_TEST_DATA"), name);
	FILE *f = fopen(path, "rb");
	CHECK(f != NULL);
	size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
	CHECK(n > 0 && n < sizeof bytes);
	CHECK_INT(buf_add(ret, bytes, n), 0);
	if (f)
		fclose(f);
}

static void
put_word(uint8_t *at, uint32_t word)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(word >> 8 * i);
}

static void
test_words(const char *name)
{
	CLEAN(buf_free) struct buf file = {0};
	read_file(name, &file);
	for (size_t at = HEAD; at + 4 <= file.len; at += 4) {
		const uint32_t words[] = {0, 1, 1000000000, INT32_MAX, UINT32_MAX,
			(uint32_t)(at - HEAD), (uint32_t)(HEAD - at), (uint32_t)(file.len - at),
			(uint32_t)(file.len - at - 4)};
		const uint32_t was = flat_u32(file.data + at);
		for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
			put_word(file.data + at, words[i]);
			LLVMFuzzerTestOneInput(file.data, file.len);
		}
		put_word(file.data + at, was);
	}
}

static void
test_all_words(void)
{
	char path[4096];
	struct rusage before, after;
	unsigned files = 0;
	snprintf(path, sizeof path, "%s/fuzz/icechunk", getenv("ZARRFS_TEST_DATA"));
	DIR *d = opendir(path);
	CHECK(d != NULL);
	getrusage(RUSAGE_SELF, &before);
	for (struct dirent *e; d && (e = readdir(d));)
		if (strstr(e->d_name, "-snapshot-") || strstr(e->d_name, "-manifest-") ||
			strstr(e->d_name, "-repo")) {
			test_words(e->d_name);
			files++;
		}
	getrusage(RUSAGE_SELF, &after);
	CHECK(files > 5);
	CHECK(after.ru_maxrss - before.ru_maxrss < MOST_KIB);
	if (d)
		closedir(d);
}

/* The payload of a repo with two commits. */
static void
repo_payload(struct buf *ret)
{
	CLEAN(buf_free) struct buf file = {0};
	read_file("spec2-repo", &file);
	CHECK_INT(ice_unpack(buf_span(&file), ICE_REPO, MOST, ret), 0);
}

static int
count_commit(void *arg, const struct ice_commit *c)
{
	++*(unsigned *)arg;
	return 0;
}

/* Each commit's parent is made commit `parent`. */
static void
test_cycle(uint32_t parent)
{
	struct buf payload = {0};
	struct flat_table root, commit;
	struct flat_vector commits;
	struct ice_repo *p = NULL;
	struct ice_ref_name name;
	char id[ICE_ID_TEXT + 1];
	unsigned n = 0;
	repo_payload(&payload);
	CHECK_INT(flat_root(buf_span(&payload), &root), 0);
	CHECK_INT(flat_vector(&root, SLOT_SNAPSHOTS, 4, &commits), 0);
	CHECK_INT(commits.count, 2);
	for (uint32_t i = 0; i < commits.count; i++) {
		const uint8_t *at;
		CHECK_INT(flat_table_of(&commits, i, &commit), 0);
		CHECK_INT(flat_struct(&commit, SLOT_PARENT, 4, &at), 0);
		put_word(payload.data + (at - payload.data), parent);
	}
	CHECK_INT(ice_repo_new(&payload, &p), 0);
	CHECK(ice_ref_parse("branch.main", &name));
	CHECK_INT(ice_repo_find(p, &name, id), 0);
	int r = ice_repo_ancestry(p, id, count_commit, &n);
	CHECK_INT(r, parent < 2 ? 0 : -EIO);
	CHECK(n >= 1 && n <= 2);
	CHECK(ice_ref_parse("2000-01-01", &name));
	CHECK_INT(ice_repo_before(p, name.time, id), parent < 2 ? ZMAP_ABSENT : -EIO);
	ice_repo_free(p);
}

static void
test_counts(unsigned slot)
{
	struct buf payload = {0};
	struct flat_table root;
	struct flat_vector v;
	struct ice_repo *p = NULL;
	repo_payload(&payload);
	CHECK_INT(flat_root(buf_span(&payload), &root), 0);
	CHECK_INT(flat_vector(&root, slot, 4, &v), 0);
	put_word(payload.data + v.at - 4, 1000000000);
	CHECK_INT(ice_repo_new(&payload, &p), -EIO);
	CHECK(strstr(err_text(), "outside") != NULL);
}

int
main(void)
{
	test_all_words();
	for (uint32_t parent = 0; parent < 2; parent++)
		test_cycle(parent);
	test_cycle(77);
	test_counts(SLOT_TAGS);
	test_counts(SLOT_BRANCHES);
	test_counts(SLOT_SNAPSHOTS);
	return check_end();
}
