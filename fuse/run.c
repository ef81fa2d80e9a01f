#include "fuse/run.h"

#include "fuse/daemon.h"
#include "fuse/serve.h"
#include "fuse/userns.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_RUN = 126, NOT_FOUND = 127, BY_SIGNAL = 128 };

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static pid_t
start_command(char **command, const sigset_t *mask)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	int why = errno;
	err_sys(why, "cannot run '%s'", command[0]);
	log_error("%s", err_text());
	_exit(why == ENOENT ? NOT_FOUND : CANNOT_RUN);
}

static int
shell_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

/* Signals that a person or a batch system sends to this process are meant for the command. Those of
 * the terminal reach it anyway. */
static int
wait_for(pid_t command, const sigset_t *set)
{
	for (;;) {
		siginfo_t info;
		int status, sig = sigwaitinfo(set, &info);
		if (sig < 0 && errno != EINTR)
			return CANNOT_RUN;
		if (sig > 0 && sig != SIGCHLD && info.si_code <= 0)
			kill(command, sig);
		if (waitpid(command, &status, WNOHANG) == command)
			return shell_status(status);
	}
}

/* 0, or EXIT_STORE where the mount could not store what the command wrote. */
static int
end_mount(pid_t daemon, bool rw)
{
	int status = 0;
	kill(daemon, SIGTERM);
	while (waitpid(daemon, &status, 0) < 0 && errno == EINTR)
		;
	return rw && status ? EXIT_STORE : 0;
}

int
run(const struct opts *o)
{
	sigset_t set, before;
	pid_t daemon;
	if (o->userns && userns_enter() < 0) {
		log_error("%s", err_text());
		return EXIT_STORE;
	}
	int status = daemon_beside(o, &daemon);
	if (status)
		return status;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
		sigaddset(&set, passed_on[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	pid_t command = start_command(o->command, &before);
	if (command < 0) {
		err_sys(errno, "cannot make a process");
		log_error("%s", err_text());
		status = CANNOT_RUN;
	} else {
		status = wait_for(command, &set);
	}
	int lost = end_mount(daemon, o->rw);
	return status ? status : lost;
}
