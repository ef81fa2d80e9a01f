/* Several writers of one directory store, and what a killed one leaves: by processes, since locks
 * and crashes are theirs. */
#include "check.h"
#include "store.h"

#include "backends/dir/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

enum { MS = 1000 };

static struct place here;
static struct zmap *z;

static const char *
at(const char *name)
{
	static char path[4][512];
	static unsigned next;
	char *p = path[next++ % 4];
	snprintf(p, sizeof path[0], "%s/%s", here.path, name);
	return p;
}

/* On a file system in memory, where there is one: thousands of syncs take no time, and its clock
 * ticks slowest. */
static void
begin(void)
{
	const char *tmp = getenv("TMPDIR");
	CLEAN(clean_free) char *before = tmp ? strdup(tmp) : NULL;
	if (access("/dev/shm", W_OK | X_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	here = place_new();
	if (before)
		setenv("TMPDIR", before, 1);
	else
		unsetenv("TMPDIR");
	z = store_open("", "dir", here.path, true);
}

static void
end(void)
{
	z = zmap_close(z);
	place_remove(&here);
}

static int
put(const char *key, const char *text)
{
	const struct zmap_put p = {.key = key, .bytes = {(const uint8_t *)text, strlen(text)}};
	return zmap_put(z, &p, NULL);
}

/* A child that runs fn with a store of its own, and says whether all was well. */
static pid_t
child(void (*fn)(void *), void *arg)
{
	pid_t p = fork();
	if (p == 0) {
		z = store_open("", "dir", here.path, true);
		if (z)
			fn(arg);
		zmap_close(z);
		_exit(check_end());
	}
	CHECK(p > 0);
	return p;
}

static void
join(pid_t p)
{
	int status = -1;
	CHECK_INT(waitpid(p, &status, 0), p);
	CHECK_INT(status, 0);
}

/* --- conditions --- */

enum { WRITERS = 3, WINS = 1000 };

/* What each writer replaced. */
struct wins {
	char version[WRITERS][WINS][ZMAP_VERSION];
};

struct writer {
	struct wins *wins;
	unsigned number;
};

static void
win(void *arg)
{
	const struct writer *me = arg;
	for (unsigned n = 0; n < WINS;) {
		struct zmap_stat s;
		CHECK_INT(zmap_stat(z, "v/0", &s), 0);
		const struct zmap_put p = {
			.key = "v/0", .bytes = {(const uint8_t *)"x", 1}, .if_match = s.version};
		int r = zmap_put(z, &p, NULL);
		CHECK(r == 0 || r == ZMAP_CHANGED);
		if (r < 0)
			return;
		if (r == 0)
			memcpy(me->wins->version[me->number][n++], s.version, sizeof s.version);
	}
}

static int
compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* No version is replaced by two, while others replace what their lock is on. */
static void
one_wins(void)
{
	pid_t p[WRITERS];
	struct wins *w =
		mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(w != MAP_FAILED);
	CHECK_INT(put("v/.zarray", "{}"), 0);
	CHECK_INT(put("v/0", "0"), 0);
	for (unsigned i = 0; i < WRITERS; i++)
		p[i] = child(win, &(struct writer){w, i});
	for (unsigned left = WRITERS; left;) {
		CHECK_INT(put("v/.zarray", "{}"), 0);
		usleep(MS);
		left = 0;
		for (unsigned i = 0; i < WRITERS; i++)
			left += !*w->version[i][WINS - 1] && kill(p[i], 0) == 0 &&
				waitpid(p[i], NULL, WNOHANG | WNOWAIT) == 0;
	}
	for (unsigned i = 0; i < WRITERS; i++)
		join(p[i]);
	qsort(w->version, (size_t)WRITERS * WINS, ZMAP_VERSION, compare);
	unsigned twice = 0;
	const char(*all)[ZMAP_VERSION] = (void *)w->version; /* those of all writers */
	for (size_t i = 1; i < (size_t)WRITERS * WINS; i++)
		twice += !strcmp(all[i - 1], all[i]);
	CHECK_INT(twice, 0);
	munmap(w, sizeof *w);
}

enum { MADE = 300 };

static void
make(void *arg)
{
	atomic_uint *made = arg;
	char key[32];
	for (unsigned n = 0; n < MADE; n++) {
		snprintf(key, sizeof key, "v/%u", n);
		const struct zmap_put p = {
			.key = key, .bytes = {(const uint8_t *)"x", 1}, .if_absent = true};
		int r = zmap_put(z, &p, NULL);
		CHECK(r == 0 || r == ZMAP_CHANGED);
		atomic_fetch_add(made, r == 0);
	}
}

static void
one_makes(void)
{
	pid_t p[WRITERS];
	atomic_uint *made =
		mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(made != MAP_FAILED);
	for (unsigned i = 0; i < WRITERS; i++)
		p[i] = child(make, made);
	for (unsigned i = 0; i < WRITERS; i++)
		join(p[i]);
	CHECK_INT(*made, MADE);
	munmap(made, sizeof *made);
}

/* Chunks come and go, and so do the directories that they lie in. */
static void
come_and_go(void *arg)
{
	for (unsigned n = 0; n < MADE; n++) {
		CHECK_INT(put("v/c/0/0", "x"), 0);
		int r = zmap_del(z, &(struct zmap_del){"v/c/0/0"});
		CHECK(r == 0 || r == ZMAP_ABSENT);
	}
}

static void
empty_directories(void)
{
	pid_t p[WRITERS];
	CHECK_INT(put("v/zarr.json", "{}"), 0);
	for (unsigned i = 0; i < WRITERS; i++)
		p[i] = child(come_and_go, NULL);
	for (unsigned i = 0; i < WRITERS; i++)
		join(p[i]);
	CHECK(access(at("v/c"), F_OK) != 0);
	CHECK(access(at("v/zarr.json"), F_OK) == 0);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"v/zarr.json"}), 0);
	CHECK(access(at("v"), F_OK) != 0);
	CHECK(access(here.path, F_OK) == 0);
}

/* A lock that another process holds is waited for no longer than the deadline says. */
static void
locked(void)
{
	struct zmap_stat s;
	CHECK_INT(put("v/.zarray", "{}"), 0);
	CHECK_INT(put("v/0", "0"), 0);
	CHECK_INT(zmap_stat(z, "v/0", &s), 0);
	int fd = open(at("v/.zarray"), O_RDWR);
	CHECK_INT(dir_lock_fd(fd, 0, 0), 0);
	struct zmap_put p = {.key = "v/0", .bytes = {(const uint8_t *)"1", 1}};
	p.deadline = clock_now() + 50 * MS * 1000;
	CHECK_INT(zmap_put(z, &p, NULL), -ETIMEDOUT);
	struct cancel cancel = {true};
	p.deadline = 0;
	p.cancel = &cancel;
	CHECK_INT(zmap_put(z, &p, NULL), -EINTR);
	p.cancel = NULL;
	p.if_match = s.version;
	close(open(at("v/.zarray"), O_RDWR)); /* would undo a lock of POSIX */
	p.deadline = clock_now() + 50 * MS * 1000;
	CHECK_INT(zmap_put(z, &p, NULL), -ETIMEDOUT);
	close(fd);
	p.deadline = 0;
	CHECK_INT(zmap_put(z, &p, NULL), 0);
}

/* --- what must not be half --- */

enum { BIG = 1 << 20 };

static void
rewrite(void *arg)
{
	char *text = malloc(BIG);
	for (unsigned i = 0; text; i++) {
		memset(text, 'a' + (int)(i % 26), BIG);
		const struct zmap_put p = {.key = "v/0", .bytes = {(uint8_t *)text, BIG}};
		CHECK_INT(zmap_put(z, &p, NULL), 0);
	}
}

static int
left_over(void)
{
	CLEAN(clean_free) char *path = strdup(at("v"));
	int n = 0;
	DIR *d = opendir(path);
	for (const struct dirent *e; d && (e = readdir(d));)
		n += !strncmp(e->d_name, DIR_TEMPORARY, sizeof DIR_TEMPORARY - 1);
	if (d)
		closedir(d);
	return n;
}

static void
killed(void)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(put("v/.zarray", "{}"), 0);
	for (int i = 0; i < 100; i++) {
		CHECK_INT(put("v/0", ""), 0);
		pid_t p = child(rewrite, NULL);
		usleep((useconds_t)(MS + 97 * i % (7 * MS)));
		kill(p, SIGKILL);
		CHECK_INT(waitpid(p, NULL, 0), p);
		b.len = 0;
		CHECK_INT(zmap_get(z, &(struct zmap_get){.key = "v/0", .into = &b, .max = 2 * BIG},
				  NULL),
			0);
		CHECK(b.len == 0 || b.len == BIG);
		store_expect_one_letter(&b);
	}
}

/* What is a day old goes when the store is written again, what is younger may be another
 * writer's. */
static void
swept(void)
{
	static const char *const name[] = {
		".zarrfs-put-0123456789abcdef", ".zarrfs-put-0123456789abcdee", ".zarrfs-put-user"};
	const struct timespec old[2] = {
		{.tv_sec = time(NULL) - 86500}, {.tv_sec = time(NULL) - 86500}};
	CLEAN(buf_free) struct buf said = {0};
	char path[64];
	CHECK_INT(put("v/c/0/1", "x"), 0);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "v/c/0/%s", name[i]);
		close(open(at(path), O_CREAT | O_WRONLY, 0600));
		if (i != 1)
			CHECK_INT(utimensat(AT_FDCWD, at(path), old, 0), 0);
	}
	snprintf(path, sizeof path, "v/c/0/%s", name[0]);
	CHECK_INT(zmap_try_writing(z, &said), 0);
	for (int i = 0; i < 2000 && access(at(path), F_OK) == 0; i++)
		usleep(5 * MS);
	CHECK(access(at(path), F_OK) != 0);
	z = zmap_close(z);
	for (size_t i = 1; i < 3; i++) {
		snprintf(path, sizeof path, "v/c/0/%s", name[i]);
		CHECK_INT(access(at(path), F_OK), 0);
	}
}

/* --- what the system says --- */

static void
too_long(void *arg)
{
	const struct rlimit l = {BIG / 2, BIG / 2};
	char *text = calloc(1, BIG);
	const struct zmap_put p = {.key = "v/0", .bytes = {(uint8_t *)text, BIG}};
	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &l), 0);
	CHECK_INT(zmap_put(z, &p, NULL), -EFBIG);
	free(text);
}

static void
as_nobody(void *arg)
{
	CLEAN(buf_free) struct buf said = {0};
	if (geteuid() == 0)
		CHECK_INT(seteuid(65534), 0);
	CHECK_INT(zmap_try_writing(z, &said), -EACCES);
	CHECK(strstr(err_text(), here.path));
	CHECK_INT(put("new", "x"), -EACCES);
	CHECK_INT(put("v/0", "x"), -EACCES);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"v/0"}), -EACCES);
}

static void
refused(void)
{
	CHECK_INT(put("v/0", "old"), 0);
	CHECK_INT(put(".zgroup", "{}"), 0);
	join(child(too_long, NULL));
	store_expect(z, (struct zmap_get){.key = "v/0"}, 0, "old");
	CHECK_INT(left_over(), 0);
	CHECK_INT(chmod(at("v"), 0555), 0);
	CHECK_INT(chmod(here.path, 0555), 0);
	join(child(as_nobody, NULL));
	CHECK_INT(chmod(here.path, 0755), 0);
	CHECK_INT(chmod(at("v"), 0755), 0);
	store_expect(z, (struct zmap_get){.key = "v/0"}, 0, "old");
	CHECK_INT(put("v/0/below", "x"), -ENOTDIR);
	CHECK_INT(put("v", "x"), -EISDIR);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"v", {0}, .if_absent = true}, NULL), -EISDIR);
	store_expect(z, (struct zmap_get){.key = "v/0"}, 0, "old");
	CHECK_INT(left_over(), 0);
}

static void
modes(void)
{
	struct stat s;
	CHECK_INT(put("a", "x"), 0);
	CHECK_INT(chmod(at("a"), 0640), 0);
	CHECK_INT(put("a", "y"), 0);
	CHECK_INT(stat(at("a"), &s), 0);
	CHECK_INT(s.st_mode & 07777, 0640);
	CHECK(s.st_mtim.tv_nsec % 1000); /* one in a thousand clocks tells microseconds */
}

static void
local_locks(void)
{
	static const char info[] =
		"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
		"30 22 0:40 / /n rw shared:1 - nfs4 a:/x rw,vers=4.2,local_lock=none,addr=1\n"
		"31 22 0:41 / /m rw - nfs b:/x rw,vers=3,nolock,local_lock=all\n"
		"32 22 0:42 / /l rw - lustre c:/x rw,localflock,lazystatfs\n"
		"33 22 0:43 / /k rw - lustre c:/x rw,flock,lazystatfs\n"
		"34 22 0:44 / /s rw - fuse.sshfs me@d: rw,user_id=0";
	CHECK(!dir_local_locks(info, makedev(254, 0)));
	CHECK(!dir_local_locks(info, makedev(0, 40)));
	CHECK_STR(dir_local_locks(info, makedev(0, 41)), "nfs");
	CHECK_STR(dir_local_locks(info, makedev(0, 42)), "lustre");
	CHECK(!dir_local_locks(info, makedev(0, 43)));
	CHECK_STR(dir_local_locks(info, makedev(0, 44)), "fuse.sshfs");
	CHECK(!dir_local_locks("", makedev(0, 44)));
	CHECK(!dir_local_locks("31 22 0:41 - nfs", makedev(0, 41)));
}

int
main(void)
{
	static void (*const row[])(void) = {one_wins, one_makes, empty_directories, locked, killed,
		swept, refused, modes, local_locks};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		int before = check_failed;
		begin();
		if (z)
			row[i]();
		end();
		if (check_failed > before)
			fprintf(stderr, "^ row %zu\n", i);
	}
	return check_end();
}
