#include "fuse/cli.h"

#include "fuse/log_once.h"
#include "fuse/serve.h"

#include "base/err.h"
#include "base/list.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* One READ of the kernel, at most. */
/* Bytes of one read: few at first, since `| head` takes no more than the beginning. */
enum { STEP_FIRST = 64 << 10, STEP_MOST = 1 << 20 };
enum { OPEN_TRIES = 4 };

CLEAN_DEFINE(struct mount, mount_close)

/* "/a//b/" is "a/b". Rewrites the text. */
static const char *
tidy(char *path)
{
	char *to = path;
	for (char *part, *rest = path; (part = strsep(&rest, "/"));) {
		if (!*part || !strcmp(part, "."))
			continue;
		if (to != path)
			*to++ = '/';
		size_t n = strlen(part);
		memmove(to, part, n);
		to += n;
	}
	*to = 0;
	return path;
}

static int
open_store(const struct opts *o, struct mount **ret)
{
	struct mount_options options;
	serve_options(o, &options);
	options.read_whole = true;
	int r = mount_open(o->store, &options, ret);
	if (r == 0)
		mount_on_note(*ret, log_once_note, NULL);
	return r;
}

static int
look_up(struct mount *m, const struct opts *o, struct entry *entry)
{
	CLEAN(clean_free) char *path = strdup(o->path);
	int r = path ? mount_lookup(m, tidy(path), entry)
		     : err_set(-ENOMEM, "no memory for a path");
	if (r == ZMAP_ABSENT)
		return err_set(-ENOENT, "no '%s' in '%s'", o->path, mount_shown(m));
	return r < 0 ? err_add(r, "cannot look up '%s'", o->path) : 0;
}

struct cli_names {
	char **name;
	size_t count;
};

static int
keep_name(void *arg, const char *name, uint64_t ino, unsigned char type)
{
	struct cli_names *n = arg;
	(void)ino;
	(void)type;
	return LIST_TAKE(n->name, n->count, "names", strdup(name));
}

static void
names_free(struct cli_names *n)
{
	LIST_FREE(n->name, n->count);
}

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names come from stores: a terminal is shown no codes. */
static void
print_name(const char *name)
{
	bool terminal = isatty(STDOUT_FILENO);
	for (; *name; name++)
		putchar(terminal && iscntrl((unsigned char)*name) ? '?' : *name);
	putchar('\n');
}

static int
list(const struct opts *o)
{
	CLEAN(mount_closep) struct mount *m = NULL;
	CLEAN(entry_free) struct entry e = {0};
	CLEAN(names_free) struct cli_names names = {0};
	int r = open_store(o, &m);
	if (r == 0)
		r = look_up(m, o, &e);
	if (r < 0)
		return r;
	r = e.kind == ENTRY_FILE ? keep_name(&names, o->path, 0, 0)
				 : mount_list(m, e.path, keep_name, &names);
	if (r < 0)
		return err_add(r, "cannot list '%s'", *e.path ? e.path : "/");
	if (names.count)
		qsort(names.name, names.count, sizeof *names.name, by_bytes);
	for (size_t i = 0; i < names.count; i++)
		print_name(names.name[i]);
	return fflush(stdout) == 0 ? 0 : err_sys(errno, "cannot write");
}

static int
write_all(struct iovec *v, unsigned n)
{
	while (n) {
		ssize_t done = writev(STDOUT_FILENO, v, (int)n);
		if (done < 0 && errno != EINTR)
			return err_sys(errno, "cannot write");
		for (; n && done >= (ssize_t)v->iov_len; v++, n--)
			done -= (ssize_t)v->iov_len;
		if (n && done > 0) {
			v->iov_base = (char *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return 0;
}

/* Returns how many bytes there were. */
static int
copy_some(struct file *f, const char *path, const struct array_want *want, size_t *ret)
{
	struct reply reply = {0};
	int r = file_read(f, want, &reply);
	r = r < 0 ? err_add(r, "cannot read '%s'", path) : write_all(reply.part, reply.parts);
	*ret = reply.len;
	reply_done(&reply);
	return r;
}

static int
copy_all(struct file *f, const struct opts *o)
{
	struct array_want want = {.len = STEP_FIRST};
	size_t n;
	do {
		want.deadline = clock_now() + o->timeout;
		int r = copy_some(f, o->path, &want, &n);
		if (r < 0)
			return r;
		want.off += n;
		want.len = want.len < STEP_MOST ? 2 * want.len : STEP_MOST;
	} while (n);
	return 0;
}

/* Where consolidated metadata are stale, the open finds that, and the name is looked up again, as
 * the kernel does. */
static int
open_found(struct mount *m, const struct opts *o, struct entry *e, struct file **ret)
{
	int r = -ESTALE;
	for (unsigned i = 0; i < OPEN_TRIES && r == -ESTALE; i++) {
		entry_free(e);
		*e = (struct entry){0};
		r = look_up(m, o, e);
		if (r < 0)
			return r;
		if (e->kind == ENTRY_DIR)
			return err_set(-EISDIR, "'%s' is a directory", o->path);
		r = file_open(m, e, ret);
	}
	return r < 0 ? err_add(r, "cannot open '%s'", o->path) : 0;
}

static int
cat(const struct opts *o)
{
	CLEAN(mount_closep) struct mount *m = NULL;
	CLEAN(entry_free) struct entry e = {0};
	struct file *f = NULL;
	int r = open_store(o, &m);
	if (r == 0)
		r = open_found(m, o, &e, &f);
	if (r < 0)
		return r;
	r = copy_all(f, o);
	file_close(f);
	return r;
}

static int
status_of(int r)
{
	if (r < 0)
		log_error("%s", err_text());
	return r < 0 ? EXIT_STORE : EXIT_SUCCESS;
}

int
cli_ls(const struct opts *o)
{
	return status_of(list(o));
}

int
cli_cat(const struct opts *o)
{
	return status_of(cat(o));
}
