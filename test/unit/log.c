/* Lines go to stderr whole and in order; where no program reads that, the threads that log go on
 * all the same. */
#include "check.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { LINES = 3000, LENGTH = 1000 /* of each; together more than any pipe and queue hold */ };

/* stderr is this from now on; what it was goes to *old. */
static void
become_stderr(int fd, int *old)
{
	*old = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

static void
give_back(int old)
{
	dup2(old, STDERR_FILENO);
	close(old);
}

/* Bytes put in until the pipe takes no more. */
static size_t
fill(int fd)
{
	char page[4096];
	size_t all = 0;
	ssize_t n;
	memset(page, '.', sizeof page);
	page[sizeof page - 1] = '\n';
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while ((n = write(fd, page, sizeof page)) > 0)
		all += (size_t)n;
	fcntl(fd, F_SETFL, 0);
	return all;
}

struct found {
	int from;        /* to be read */
	unsigned lines;  /* that were said and came */
	unsigned lost;   /* that were said to be dropped */
	unsigned broken; /* in no order, or not whole */
	bool last;       /* the very last came */
};

static void
look_at(const char *line, struct found *f)
{
	unsigned n, lost;
	if (sscanf(line, "zarrfs: line %u", &n) == 1) {
		f->broken += n != f->lines + f->lost || strlen(line) < LENGTH;
		f->lines++;
	} else if (sscanf(line, "zarrfs: warning: %u lines were dropped", &lost) == 1) {
		f->lost += lost;
	} else if (strcmp(line, "zarrfs: the last\n") == 0) {
		f->last = true;
	} else {
		f->broken += *line != '.';
	}
}

static void *
read_all(void *arg)
{
	struct found *f = arg;
	char line[8192];
	FILE *file = fdopen(f->from, "r");
	while (fgets(line, sizeof line, file))
		look_at(line, f);
	fclose(file);
	return NULL;
}

static void
say_all(void)
{
	char text[LENGTH];
	memset(text, 'x', sizeof text);
	text[LENGTH - 1] = 0;
	for (unsigned i = 0; i < LINES; i++)
		log_error("line %u %s", i, text);
}

static void
test_full_pipe(void)
{
	struct found found = {0};
	pthread_t reader;
	int pipes[2], old;
	CHECK_INT(pipe(pipes), 0);
	CHECK(fill(pipes[1]) > 0);
	become_stderr(pipes[1], &old);
	log_start();
	say_all(); /* no program reads yet */
	found.from = pipes[0];
	pthread_create(&reader, NULL, read_all, &found);
	log_drain();
	log_error("the last");
	log_stop();
	give_back(old);
	pthread_join(reader, NULL);
	CHECK_INT(found.lines + found.lost, LINES);
	CHECK(found.lines > 0);
	CHECK(found.lost > 0);
	CHECK_INT(found.broken, 0);
	CHECK(found.last);
}

static void
test_plain_file(void)
{
	char said[64] = "";
	FILE *file = tmpfile();
	int old;
	become_stderr(dup(fileno(file)), &old);
	log_start();
	log_warn("at once");
	CHECK(pread(fileno(file), said, sizeof said - 1, 0) > 0);
	log_stop();
	give_back(old);
	fclose(file);
	CHECK_STR(said, "zarrfs: warning: at once\n");
}

/* Must come last: its thread stays where it is. */
static void
test_end_in_a_full_pipe(void)
{
	int pipes[2], old;
	CHECK_INT(pipe(pipes), 0);
	fill(pipes[1]);
	become_stderr(pipes[1], &old);
	log_start();
	log_error("without a sink");
	log_stop();
	log_error("without a sink, too");
	give_back(old);
}

int
main(void)
{
	alarm(250); /* where a thread waits for the pipe */
	test_full_pipe();
	test_plain_file();
	test_end_in_a_full_pipe();
	return check_end();
}
