#include "fuse/cli.h"
#include "fuse/create.h"
#include "fuse/daemon.h"
#include "fuse/opts.h"
#include "fuse/run.h"
#include "fuse/serve.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static void
nothing_more(void *arg)
{
	(void)arg;
}

/* Installed setuid it would read what its caller may not. Mounting needs no such rights:
 * fusermount3 has them. */
static int
give_up_rights(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	if (geteuid() == uid && getegid() == gid)
		return 0;
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return err_sys(errno, "cannot give up the rights of the program's owner");
	return 0;
}

/* What others may have left odd: descriptors 0 to 2 closed, and children that were not waited
 * for. */
static void
tidy_up(void)
{
	int fd;
	while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= 2)
		;
	if (fd > 2)
		close(fd);
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

static int
mount_job(const struct opts *o)
{
	if (o->fake)
		return EXIT_SUCCESS;
	return o->foreground ? serve(o, nothing_more, NULL) : daemon_mount(o);
}

int
main(int argc, char **argv)
{
	struct opts o;
	tidy_up();
	if (give_up_rights() < 0) {
		log_error("%s", err_text());
		return EXIT_STORE;
	}
	if (opts_parse(argc, argv, &o) < 0) {
		log_error("%s", err_text());
		return EXIT_USAGE;
	}
	log_set_level(opts_level(&o));
	switch (o.job) {
	case JOB_HELP: opts_help(stdout); return EXIT_SUCCESS;
	case JOB_VERSION: puts("zarrfs " ZARRFS_VERSION); return EXIT_SUCCESS;
	case JOB_LS: return cli_ls(&o);
	case JOB_CAT: return cli_cat(&o);
	case JOB_CREATE: return create_store(&o);
	case JOB_RUN: return run(&o);
	case JOB_MOUNT: return mount_job(&o);
	}
	return EXIT_USAGE;
}
