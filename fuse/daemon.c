#include "fuse/daemon.h"

#include "fuse/mountpoint.h"
#include "fuse/serve.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

static void
to_syslog(enum log_level level, const char *line)
{
	static const int priority[] = {
		[LOG_LEVEL_ERROR] = LOG_ERR,
		[LOG_LEVEL_WARN] = LOG_WARNING,
		[LOG_LEVEL_INFO] = LOG_INFO,
		[LOG_LEVEL_DEBUG] = LOG_DEBUG,
	};
	syslog(priority[level], "%s", line);
}

/* Where the process that started it is gone, the mount is not wanted. */
static void
say_ready(int to)
{
	ssize_t n;
	while ((n = write(to, "", 1)) < 0 && errno == EINTR)
		;
	if (n < 0)
		kill(getpid(), SIGTERM);
	close(to);
}

/* The terminal is let go only now, so that all that can fail is said there. */
static void
detach(void *arg)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	openlog("zarrfs", LOG_PID, LOG_DAEMON);
	log_set_sink(to_syslog);
	setsid();
	if (chdir("/") < 0)
		log_debug("cannot change to /");
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	say_ready(*(int *)arg);
}

static void
stay(void *arg)
{
	say_ready(*(int *)arg);
}

/* Its exit status, as a shell would say it. */
static int
exit_status(pid_t child)
{
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_STORE;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	log_error("ended by signal %d before the mount was ready", WTERMSIG(status));
	return EXIT_STORE;
}

static void
child(const struct opts *o, bool beside, int to)
{
	pid_t parent = getppid();
	if (beside) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			exit(EXIT_STORE);
		setsid(); /* Ctrl-C is for the command, and stderr for what went wrong */
		if (log_get_level() == LOG_LEVEL_INFO)
			log_set_level(LOG_LEVEL_WARN);
	}
	exit(serve(o, beside ? stay : detach, &to));
}

/* 0 and the child's id once it is ready; else its exit status. */
static int
start(const struct opts *o, bool beside, pid_t *ret)
{
	int pipes[2];
	char byte;
	ssize_t n;
	if (pipe2(pipes, O_CLOEXEC) < 0) {
		err_sys(errno, "cannot make a pipe");
		log_error("%s", err_text());
		return EXIT_STORE;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(pipes[0]);
		child(o, beside, pipes[1]);
	}
	close(pipes[1]);
	mountpoint_let_go(o->mountpoint);
	if (pid < 0) {
		err_sys(errno, "cannot make a process");
		log_error("%s", err_text());
		close(pipes[0]);
		return EXIT_STORE;
	}
	while ((n = read(pipes[0], &byte, 1)) < 0 && errno == EINTR)
		;
	close(pipes[0]);
	if (n != 1) {
		int status = exit_status(pid);
		return status ? status : EXIT_STORE;
	}
	*ret = pid;
	return 0;
}

int
daemon_mount(const struct opts *o)
{
	pid_t pid;
	return start(o, false, &pid);
}

int
daemon_beside(const struct opts *o, pid_t *ret)
{
	return start(o, true, ret);
}
