#include "fuse/serve.h"

#include "fuse/log_once.h"
#include "fuse/early.h"
#include "fuse/mountpoint.h"
#include "fuse/session.h"

#include "base/err.h"
#include "base/log.h"

#include <malloc.h>

/* `.zarrfs/config` has no argument: there is one mount a process. */
static struct opts in_force;

static int
config(struct buf *ret)
{
	return opts_config(&in_force, ret);
}

/* What is freed goes back. Arenas grow by enough that this takes few system calls. Writers want the
 * same buffers of a megabyte again for each chunk; the long lists of readers would leave holes. */
static void
bound_malloc(bool rw)
{
	enum { TRIMMED_FROM = 4 << 20, GROWTH = 1 << 20 };
	mallopt(M_MMAP_THRESHOLD, rw ? 2 << 20 : 128 << 10);
	mallopt(M_TRIM_THRESHOLD, TRIMMED_FROM);
	mallopt(M_TOP_PAD, GROWTH);
}

/* Sixty threads must not each keep an arena, which holds only if it is said before the first of
 * them. A mount is opened with tables of which most is never touched: those come from the system,
 * where calloc clears nothing. */
static void
begin_malloc(void)
{
	enum { ARENAS = 4, TABLE = 16 << 10 };
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MMAP_THRESHOLD, TABLE);
}

/* Where TZ is not said, the C library looks for another /etc/localtime at each date that it is
 * given: libzip gives it one for each member of an archive. */
static void
keep_zone(void)
{
	setenv("TZ", ":/etc/localtime", 0);
}

void
serve_options(const struct opts *o, struct mount_options *ret)
{
	in_force = *o;
	keep_zone();
	opts_for_mount(o, ret);
	ret->config = config;
}

int
serve(const struct opts *o, void (*ready)(void *arg), void *arg)
{
	CLEAN(clean_free) char *mountpoint = NULL;
	struct mount_options options;
	struct mount *m = NULL;
	struct early *early = NULL;
	begin_malloc();
	log_start();
	serve_options(o, &options);
	int r = mountpoint_prepare(o, &mountpoint);
	if (r == 0)
		r = early_new(&early);
	if (r == 0)
		r = mount_open(o->store, &options, &m);
	early_free(early);
	bound_malloc(o->rw);
	if (r == 0) {
		mount_on_note(m, log_once_note, NULL);
		in_force.memory = (int64_t)data_memory(mount_data(m));
		r = session_run(&(struct session_start){m, o, mountpoint, ready, arg});
	}
	if (r < 0)
		log_error("%s", err_text());
	mount_close(m);
	log_stop();
	return r < 0 ? EXIT_STORE : EXIT_SUCCESS;
}
