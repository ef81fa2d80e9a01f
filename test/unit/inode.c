/* The table of inodes: one for each layout of a path, for as long as the kernel or a thread holds
 * it. */
#include "fuse/inode.h"

#include "check.h"

static struct entry
entry(const char *path, uint64_t version)
{
	return (struct entry){.path = strdup(path),
		.version = version,
		.ino = 7,
		.size = version * 10,
		.mode = 0444};
}

static uint64_t
look_up(struct inodes *t, const char *path, uint64_t version)
{
	CLEAN(entry_free) struct entry e = entry(path, version);
	uint64_t id = 0;
	CHECK_INT(inodes_look_up(t, &e, &id), 0);
	return id;
}

static struct inodes *
table(void)
{
	CLEAN(entry_free) struct entry root = entry("", 1);
	struct inodes *t = NULL;
	CHECK_INT(inodes_new(&root, &t), 0);
	return t;
}

static void
test_layouts(void)
{
	struct inodes *t = table();
	uint64_t a = look_up(t, "g/a", 1);
	CHECK(a != INODE_ROOT);
	CHECK_INT(look_up(t, "g/a", 1), a);
	uint64_t b = look_up(t, "g/a", 2);
	CHECK(b != a);
	CHECK_INT(look_up(t, "", 9), INODE_ROOT);
	CHECK_INT(inodes_count(t), 3);
	struct inode *held[4];
	CHECK_INT(inodes_of_path(t, "g/a", held, 4), 2);
	for (int i = 0; i < 2; i++)
		inodes_put(t, held[i]);
	CHECK_INT(inodes_of_path(t, "g/a", held, 1), 1);
	inodes_put(t, held[0]);
	inodes_forget(t, a, 2);
	CHECK_INT(inodes_count(t), 2);
	inodes_forget(t, b, 1);
	inodes_forget(t, INODE_ROOT, 1);
	CHECK_INT(inodes_count(t), 1);
	inodes_free(t);
}

static void
test_held(void)
{
	struct inodes *t = table();
	uint64_t a = look_up(t, "a", 1);
	struct inode *i = inodes_get(t, a);
	inodes_forget(t, a, 1);
	CHECK_INT(inodes_count(t), 2);
	CHECK_STR(i->path, "a");
	CHECK_INT(look_up(t, "a", 1), a);
	inodes_put(t, i);
	CHECK_INT(inodes_count(t), 2);
	inodes_forget(t, a, 1);
	CHECK_INT(inodes_count(t), 1);
	inodes_free(t);
}

static void
test_seen(void)
{
	struct inodes *t = table();
	struct inode *i = inodes_get(t, look_up(t, "a", 1));
	CLEAN(entry_free) struct entry same = entry("a", 1), other = entry("a", 2);
	same.size = 11;
	CHECK(inodes_see(t, i, &same));
	CHECK(!inodes_see(t, i, &other));
	CHECK_INT(inodes_seen(t, i).size, 11);
	CHECK_INT(inodes_ino(t, "a"), 7);
	CHECK_INT(inodes_ino(t, "b"), 0);
	inodes_put(t, i);
	inodes_free(t);
}

/* Is that a size that the kernel did not know? */
static bool
resizes(struct inodes *t, struct inode *i, uint64_t size)
{
	CLEAN(entry_free) struct entry e = entry("a", 1);
	e.size = size;
	atomic_store(&i->resized, 0);
	CHECK(inodes_see(t, i, &e));
	return atomic_load(&i->resized);
}

static void
test_resized(void)
{
	struct inodes *t = table();
	struct inode *i = inodes_get(t, look_up(t, "a", 1));
	CHECK(atomic_load(&i->resized));
	inodes_arrived(t, i); /* it asks about what it was told of */
	CHECK(!atomic_load(&i->resized));
	CHECK(!resizes(t, i, 10));
	CHECK(resizes(t, i, 20));
	inodes_arrived(t, i);
	CHECK(atomic_load(&i->resized));
	inode_reach(i, 40);
	CHECK(!resizes(t, i, 40));
	CHECK(resizes(t, i, 30)); /* cut by another mount */
	CHECK(resizes(t, i, 40));
	inodes_put(t, i);
	inodes_free(t);
}

static bool
takes_end(struct inodes *t, struct inode *i, uint64_t off)
{
	atomic_fetch_add(&i->answering, 1);
	const bool takes = inodes_takes_end(t, i, off, 4096);
	atomic_fetch_sub(&i->answering, 1);
	return takes;
}

/* The end of a file that became shorter is taken from a page that was asked for once more, unless
 * the kernel was told anything since it was refused. */
static void
test_takes_end(void)
{
	struct inodes *t = table();
	struct inode *i = inodes_get(t, look_up(t, "a", 1));
	CHECK(!takes_end(t, i, 0));
	CHECK(takes_end(t, i, 0));
	CHECK(!takes_end(t, i, 4096)); /* another page */
	CHECK(takes_end(t, i, 4096));
	look_up(t, "a", 1); /* it was told attributes */
	CHECK(!takes_end(t, i, 4096));
	atomic_fetch_add(&i->told, 1); /* it is being told to forget them … */
	CHECK(!takes_end(t, i, 4096));
	CHECK(!takes_end(t, i, 4096));
	atomic_fetch_add(&i->heard, 1); /* … which may have come after the page was asked for */
	CHECK(!takes_end(t, i, 4096));
	CHECK(takes_end(t, i, 4096));
	inode_reach(i, 40); /* by a write */
	CHECK(!takes_end(t, i, 4096));
	atomic_fetch_add(&i->answering, 1); /* it is about to be told attributes */
	CHECK(!takes_end(t, i, 4096));
	atomic_fetch_sub(&i->answering, 1);
	CHECK(!takes_end(t, i, 4096));
	CHECK(takes_end(t, i, 4096));
	inodes_put(t, i);
	inodes_free(t);
}

static void
test_retired(void)
{
	struct inodes *t = table();
	uint64_t a = look_up(t, "a", 1);
	struct inode *i = inodes_get(t, a);
	CHECK(inodes_retire(t, i));
	CHECK(!inodes_retire(t, i));
	uint64_t b = look_up(t, "a", 1);
	CHECK(b != a);
	CHECK_INT(look_up(t, "a", 1), b);
	inodes_put(t, i);
	inodes_free(t);
}

/* Many, so that the table grows; each is found again. */
static void
test_many(void)
{
	enum { MANY = 3000 };
	struct inodes *t = table();
	static uint64_t id[MANY];
	char path[32];
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof path, "group/v%d", i);
		id[i] = look_up(t, path, 1);
	}
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof path, "group/v%d", i);
		CHECK_INT(look_up(t, path, 1), id[i]);
		inodes_forget(t, id[i], i % 2 ? 2 : 1);
	}
	CHECK_INT(inodes_count(t), MANY / 2 + 1);
	inodes_free(t);
}

int
main(void)
{
	test_layouts();
	test_held();
	test_seen();
	test_resized();
	test_takes_end();
	test_retired();
	test_many();
	return check_end();
}
