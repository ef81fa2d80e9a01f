/* What only a directory can do to its reader: links, special files, moves, changes under the eyes.
 * All of it with the kernel's own guard (openat2) and again without, as under seccomp. */
#include "check.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { MS = 1000 };

static struct place here; /* outside, outside/secret, store/… */
static struct zmap *z;

static const char *
at(const char *name)
{
	static _Thread_local char path[4][512];
	static _Thread_local unsigned next;
	char *p = path[next++ % 4];
	snprintf(p, sizeof path[0], "%s/%s", here.path, name);
	return p;
}

static void
file(const char *name, const char *text)
{
	int fd = open(at(name), O_CREAT | O_TRUNC | O_WRONLY, 0644);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
dir(const char *name)
{
	CHECK_INT(mkdir(at(name), 0755), 0);
}

static void
link_to(const char *target, const char *name)
{
	CHECK_INT(symlink(target, at(name)), 0);
}

static void
expect(const char *key, int want, const char *text)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(zmap_get(z, &(struct zmap_get){.key = key, .into = &b, .max = 1 << 22}, NULL),
		want);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, text);
	struct zmap_stat s;
	CHECK_INT(zmap_stat(z, key, &s), want);
}

static int
see(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	return buf_addf(arg, "%s%s ", name, prefix ? "/" : "");
}

/* How often name is in the listing of prefix. */
static int
listed(const char *prefix, const char *name)
{
	CLEAN(buf_free) struct buf b = {0};
	char word[64];
	int n = 0;
	CHECK_INT(buf_add(&b, " ", 1), 0);
	CHECK_INT(zmap_list(z, prefix, see, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	snprintf(word, sizeof word, " %s ", name);
	for (const char *p = (char *)b.data; (p = strstr(p, word)); p++)
		n++;
	return n;
}

static void
make_links(void)
{
	file("store/a", "in");
	dir("store/g");
	file("store/g/a", "deep");
	link_to("a", "store/same");
	link_to("../a", "store/g/up");
	link_to("g", "store/h");
	link_to(at("store/g/a"), "store/absolute");
	link_to("../secret", "store/out");
	link_to("../../store/a", "store/g/round");
	link_to("/etc/passwd", "store/passwd");
	link_to("..", "store/parent");
	link_to("/proc/self/root", "store/magic");
	link_to("nothing", "store/dangling");
	link_to("/no/thing", "store/lost");
	link_to("loop", "store/loop");
	link_to("../secrets", "store/like"); /* a place whose name begins like the store's */
}

static void
links(void)
{
	make_links();
	expect("same", 0, "in");
	expect("g/up", 0, "in");
	expect("h/a", 0, "deep");
	expect("absolute", 0, "deep");
	expect("out", -EACCES, "");
	CHECK_STR(err_text(), "cannot stat 'out': a symbolic link leads out of the store (option "
			      "'follow' allows it)");
	expect("passwd", -EACCES, "");
	expect("parent/secret", -EACCES, "");
	expect("parent/store/a", 0, "in"); /* where it ends counts */
	expect("g/round", 0, "in");
	expect("magic/etc/passwd", -EACCES, "");
	expect("dangling", -EIO, "");
	expect("lost", -EIO, "");
	expect("loop", -ELOOP, "");
	expect("h", ZMAP_ABSENT, "");
	expect("h/none", ZMAP_ABSENT, "");
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(zmap_list(z, "parent/", see, &b), -EACCES);
	CHECK_INT(zmap_list(z, "dangling/", see, &b), -EIO);
	CHECK_INT(listed("h/", "a"), 1);
	CHECK_INT(listed("", "h/"), 1);
	CHECK_INT(listed("", "same"), 1);
	CHECK_INT(listed("", "out"), 1); /* there, and its get says what is wrong */
	CHECK_INT(listed("", "dangling"), 1);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"parent/new", {0}}, NULL), -EACCES);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"parent/x/new", {0}}, NULL), -EACCES);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"parent/secret"}), -EACCES);

	zmap_close(z);
	const struct zmap_options o = {.follow = true, .timeout = 10 * SECOND};
	z = store_open_with("", "dir", at("store"), &o, NULL);
	expect("out", 0, "secret");
	expect("parent/secret", 0, "secret");
	expect("dangling", -EIO, "");
}

/* Reading it is refused before it is opened, which could do something. */
static void
expect_unopened(const char *key)
{
	char event[4096], path[64];
	int watch = inotify_init1(IN_NONBLOCK);
	snprintf(path, sizeof path, "store/%s", key);
	CHECK(inotify_add_watch(watch, at(path), IN_OPEN) >= 0);
	expect(key, -EIO, "");
	CHECK(read(watch, event, sizeof event) < 0);
	CHECK_INT(errno, EAGAIN);
	close(watch);
}

static void
special_files(void)
{
	CHECK_INT(mkfifo(at("store/fifo"), 0644), 0);
	expect_unopened("fifo");
	if (mknod(at("store/null"), S_IFCHR | 0666, makedev(1, 3)) == 0)
		expect_unopened("null");
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	snprintf(a.sun_path, sizeof a.sun_path, "%s", at("store/socket"));
	CHECK_INT(bind(s, (struct sockaddr *)&a, sizeof a), 0);
	link_to("fifo", "store/to_fifo");
	link_to("/dev/zero", "store/zero");
	expect("fifo", -EIO, "");
	expect("socket", -EIO, "");
	expect("to_fifo", -EIO, "");
	expect("zero", -EACCES, "");
	CHECK_INT(listed("", "fifo"), 0);
	CHECK_INT(listed("", "socket"), 0);
	CHECK_INT(listed("", "to_fifo"), 0);
	close(s);
	if (geteuid() != 0) {
		file("store/closed", "x");
		CHECK_INT(chmod(at("store/closed"), 0), 0);
		CLEAN(buf_free) struct buf b = {0};
		CHECK_INT(zmap_get(z, &(struct zmap_get){.key = "closed", .into = &b, .max = 9},
				  NULL),
			-EACCES);
	}
}

static void
moved(void)
{
	file("store/a", "old");
	expect("a", 0, "old");
	CHECK_INT(zmap_alive(z), 0);
	CHECK_INT(rename(at("store"), at("away")), 0);
	expect("none", -EIO, ""); /* never absent, from the first moment */
	usleep(120 * MS);
	expect("a", -EIO, "");
	CHECK(strstr(err_text(), "is gone or was moved"));
	CHECK_INT(zmap_alive(z), -EIO);
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(zmap_list(z, "", see, &b), -EIO);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"b", {0}}, NULL), -EIO);

	CHECK_INT(rename(at("away"), at("store")), 0);
	usleep(120 * MS);
	expect("a", 0, "old");
	expect("none", ZMAP_ABSENT, "");
	CHECK_INT(zmap_alive(z), 0);

	dir("new");
	file("new/a", "new");
	file("new/b", "only here");
	CHECK_INT(rename(at("store"), at("old")), 0);
	CHECK_INT(rename(at("new"), at("store")), 0);
	expect("b", 0, "only here"); /* not found in the old one, so looked for in the new */
	expect("a", 0, "new");
	CHECK_INT(zmap_alive(z), 0);
}

static void
flipped(void)
{
	zmap_close(z);
	dir("v1");
	dir("v2");
	file("v1/a", "one");
	file("v2/a", "two");
	link_to("v1", "now");
	z = store_open("", "dir", at("now"), true);
	expect("a", 0, "one");
	for (int i = 0; i < 20; i++) {
		link_to(i % 2 ? "v1" : "v2", "next");
		CHECK_INT(rename(at("next"), at("now")), 0);
		CHECK_INT(zmap_alive(z), 0);
		expect("a", 0, i % 2 ? "one" : "two");
	}
	CHECK_INT(unlink(at("now")), 0);
	CHECK_INT(zmap_alive(z), -EIO);
	expect("a", -EIO, "");
}

/* Written in place, as some writers do: never more than what a stat said, never a hang. */
static void *
rewrite(void *arg)
{
	static char bytes[1 << 20];
	int fd = open(at("store/a"), O_WRONLY);
	for (int i = 0; i < 60; i++) {
		memset(bytes, 'a' + i % 26, sizeof bytes);
		CHECK_INT(ftruncate(fd, 0), 0);
		CHECK_INT(pwrite(fd, bytes, sizeof bytes - (size_t)i * 100, 0),
			sizeof bytes - (size_t)i * 100);
	}
	close(fd);
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

static void
written_in_place(void)
{
	atomic_bool over = false;
	pthread_t t;
	file("store/a", "");
	pthread_create(&t, NULL, rewrite, &over);
	while (!over) {
		CLEAN(buf_free) struct buf b = {0};
		struct zmap_stat s = {0};
		int r = zmap_get(z, &(struct zmap_get){.key = "a", .into = &b, .max = 1 << 20}, &s);
		CHECK(r == 0 || r == -EIO);
		CHECK_INT(b.len, r == 0 ? s.size : 0);
	}
	pthread_join(t, NULL);
}

enum { TURNS = 40 };

/* Adds one TURNS times, on condition that no other writer did meanwhile. */
static void *
add_one(void *arg)
{
	struct zmap *mine = store_open("", "dir", at("store"), true);
	for (int done = 0; mine && done < TURNS;) {
		CLEAN(buf_free) struct buf b = {0};
		struct zmap_stat s = {0};
		char text[16];
		CHECK_INT(zmap_get(mine, &(struct zmap_get){.key = "n", .into = &b, .max = 16}, &s),
			0);
		CHECK_INT(buf_terminate(&b), 0);
		int n = snprintf(text, sizeof text, "%d", atoi((char *)b.data) + 1);
		int r = zmap_put(mine,
			&(struct zmap_put){
				"n", {(uint8_t *)text, (size_t)n}, .if_match = s.version},
			NULL);
		CHECK(r == 0 || r == ZMAP_CHANGED);
		done += r == 0;
		if (r < 0)
			break;
	}
	zmap_close(mine);
	return NULL;
}

static void
put_on_condition(void)
{
	pthread_t t[2];
	file("store/n", "0");
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, add_one, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	expect("n", 0, "80");
	file("store/.zarrfs-put-0123456789abcdef", "left by a crash");
	CHECK_INT(listed("", ".zarrfs-put-0123456789abcdef"), 0);
	CHECK_INT(listed("", "n"), 1);
	zmap_close(z);
	z = store_open("", "dir", at("store"), false);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"n", {0}}, NULL), -EROFS);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"n"}), -EROFS);
	expect("n", 0, "80");
}

static void *
put_and_delete(void *arg)
{
	const char *key = arg;
	for (int i = 0; i < 300; i++) {
		CHECK_INT(zmap_put(z, &(struct zmap_put){key, {(const uint8_t *)"x", 1}}, NULL), 0);
		CHECK_INT(zmap_del(z, &(struct zmap_del){key}), 0);
	}
	return NULL;
}

/* The directory of the last key goes with it, also while others put there. */
static void
emptied(void)
{
	static const char *const key[] = {"v/c/0/1", "v/c/0/2", "v/c/1/0"};
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, put_and_delete, (void *)key[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	CHECK_INT(listed("", "v/"), 0);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"v/c/0/1", {0}}, NULL), 0);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"v/d", {0}}, NULL), 0);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"v/c/0/1"}), 0);
	CHECK_INT(listed("v/", "c/"), 0);
	CHECK_INT(listed("v/", "d"), 1);
}

static void
all(void)
{
	static void (*const row[])(void) = {
		links, special_files, moved, flipped, written_in_place, put_on_condition, emptied};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		here = place_new();
		dir("store");
		file("secret", "secret");
		file("secrets", "x");
		z = store_open("", "dir", at("store"), true);
		if (z)
			row[i]();
		zmap_close(z);
		place_remove(&here);
	}
}

/* As container engines do with system calls that they do not know. */
static bool
forbid_openat2(int errnum)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0;
}

static void
without_openat2(int errnum)
{
	pid_t child = fork();
	if (child == 0) {
		if (!forbid_openat2(errnum))
			exit(77);
		all();
		exit(check_end());
	}
	int status = -1;
	CHECK(waitpid(child, &status, 0) == child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		fprintf(stderr, "not tried without openat2: no seccomp here\n");
	else
		CHECK_INT(status, 0);
}

int
main(void)
{
	all();
	without_openat2(EPERM);
	without_openat2(ENOSYS);
	return check_end();
}
