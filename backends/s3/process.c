/* credential_process: another program says the keys. */
#include "backends/s3/provider.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 64, ANSWER_MAX = 1 << 16, STEP = 100 /* ms */ };

/* The next word of *text as a shell would see it, or NULL: there is none. Rewrites the text. */
static char *
next_word(char **text)
{
	char *from = *text, quote = 0;
	while (*from == ' ' || *from == '\t')
		from++;
	char *word = from, *to = from;
	if (!*from)
		return NULL;
	for (; *from && (quote || (*from != ' ' && *from != '\t')); from++) {
		if (*from == quote)
			quote = 0;
		else if (!quote && (*from == '"' || *from == '\''))
			quote = *from;
		else if (*from == '\\' && quote != '\'' && from[1])
			*to++ = *++from;
		else
			*to++ = *from;
	}
	*text = *from ? from + 1 : from;
	*to = 0;
	return word;
}

static int
start(char **words, int out, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attr, &none);
	int e = posix_spawnp(ret, words[0], &actions, &attr, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return e ? err_sys(e, "cannot run '%s'", words[0]) : 0;
}

/* All that it prints, until it closes its output. */
static int
read_all(int fd, int64_t deadline, struct cancel *cancel, struct buf *ret)
{
	int r = buf_reserve(ret, ANSWER_MAX);
	while (r == 0) {
		struct pollfd p = {fd, POLLIN, 0};
		r = zmap_patience(deadline, cancel);
		if (r < 0 || poll(&p, 1, STEP) <= 0)
			continue;
		ssize_t n = read(fd, ret->data + ret->len, ANSWER_MAX - ret->len);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_sys(errno, "cannot read what it prints");
		ret->len += n > 0 ? (size_t)n : 0;
		if (ret->len == ANSWER_MAX)
			return err_set(-EFBIG, "it prints more than 64 KiB");
	}
	return r;
}

/* It has closed its output, or is of no use any more. */
static int
end(pid_t pid, int r, int64_t deadline, struct cancel *cancel)
{
	int status = 0;
	while (waitpid(pid, &status, r < 0 ? 0 : WNOHANG) != pid) {
		r = r < 0 ? r : zmap_patience(deadline, cancel);
		if (r < 0)
			kill(-pid, SIGKILL);
		else
			poll(NULL, 0, STEP / 10);
	}
	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status)))
		return err_set(-EIO, "it ended with status %d",
			WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return r;
}

int
provider_run(const char *command, int64_t deadline, struct cancel *cancel, struct buf *ret)
{
	char *words[WORDS_MAX + 1];
	size_t n = 0;
	int pipes[2];
	pid_t pid;
	CLEAN(clean_free) char *copy = strdup(command);
	if (!copy)
		return err_set(-ENOMEM, "no memory for a command");
	char *rest = copy;
	while (n < WORDS_MAX && (words[n] = next_word(&rest)))
		n++;
	words[n] = NULL;
	if (!n || n == WORDS_MAX)
		return err_set(-EINVAL, "credential_process is empty or too long");
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_sys(errno, "cannot make a pipe");
	int r = start(words, pipes[1], &pid);
	close(pipes[1]);
	bool started = r == 0;
	if (started)
		r = read_all(pipes[0], deadline, cancel, ret);
	if (started && r < 0)
		kill(-pid, SIGKILL);
	if (started)
		r = end(pid, r, deadline, cancel);
	close(pipes[0]);
	return r < 0 ? err_add(r, "credential_process '%s'", words[0]) : 0;
}
