#include "fuse/cli.h"
#include "fuse/daemon.h"
#include "fuse/opts.h"
#include "fuse/run.h"
#include "fuse/serve.h"

#include "base/err.h"
#include "base/log.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static void
nothing_more(void *arg)
{
	(void)arg;
}

/* What others may have left odd: descriptors 0 to 2 closed, and children that nobody waits for. */
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
	case JOB_RUN: return run(&o);
	case JOB_MOUNT: return mount_job(&o);
	}
	return EXIT_USAGE;
}
