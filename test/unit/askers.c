/* A thread that stands still in the midst of a read() is not taken for one that is done. */
#include "fuse/askers.h"
#include "check.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct askers askers;

/* A page that does not come until it is told. -1: Linux has none for this user. */
static int absent_fd;
static volatile const char *absent;

/* A process that does something, which has begun when it says so, until it is told to end. */
struct player {
	pid_t process;
	int said[2], told[2]; /* pipes */
};

static void
say_begun(const struct player *p)
{
	CHECK_INT(write(p->said[1], "b", 1), 1);
}

static void
wait_told(const struct player *p)
{
	char byte;
	CHECK_INT(read(p->told[0], &byte, 1), 0);
}

/* Waits in the kernel, and can be woken by no signal. */
static void
stand_still(const struct player *p)
{
	if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) {
		say_begun(p);
		wait_told(p);
	}
}

static void
sleep_long(const struct player *p)
{
	say_begun(p);
	wait_told(p);
}

static void
run_long(const struct player *p)
{
	struct pollfd told = {.fd = p->told[0], .events = POLLIN};
	say_begun(p);
	while (!poll(&told, 1, 0))
		;
}

static struct player
start(void (*does)(const struct player *))
{
	struct player p;
	char byte;
	CHECK_INT(pipe2(p.said, O_CLOEXEC) | pipe2(p.told, O_CLOEXEC), 0);
	p.process = fork();
	if (p.process == 0) {
		close(p.told[1]);
		does(&p);
		_exit(0);
	}
	CHECK(p.process > 0);
	CHECK_INT(read(p.said[0], &byte, 1), 1);
	return p;
}

static void
end(const struct player *p)
{
	close(p->told[1]);
	waitpid(p->process, NULL, 0);
	close(p->told[0]);
	close(p->said[0]);
	close(p->said[1]);
}

static char
state_of(pid_t process)
{
	char path[64], name[64], state = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%*d %63s %c", name, &state) != 2)
		state = 0;
	if (f)
		fclose(f);
	return state;
}

static void
wait_state(pid_t process, char state)
{
	while (state_of(process) != state)
		usleep(1000);
}

static void
stands_still(void)
{
	struct askers_look look;
	const struct player p = start(stand_still);
	wait_state(p.process, 'D');
	askers_note(&askers, p.process);
	askers_look(&askers, &look);
	CHECK_INT(look.count, 1);
	for (unsigned n = 0; n < 20; n++) {
		CHECK(!askers_are_out(&askers, &look));
		usleep(1000);
	}
	end(&p);
	CHECK(askers_are_out(&askers, &look));
	askers_forget(&askers);
}

static void
sleeps(void)
{
	struct askers_look look;
	const struct player p = start(sleep_long);
	wait_state(p.process, 'S');
	askers_note(&askers, p.process);
	askers_look(&askers, &look);
	CHECK_INT(look.count, 1);
	CHECK(askers_are_out(&askers, &look));
	end(&p);
	askers_forget(&askers);
}

static void
runs(void)
{
	struct askers_look look;
	const struct player p = start(run_long);
	askers_note(&askers, p.process);
	askers_look(&askers, &look);
	CHECK_INT(look.count, 1);
	while (!askers_are_out(&askers, &look)) /* it has not run long enough */
		usleep(1000);
	end(&p);
	askers_forget(&askers);
	askers_look(&askers, &look);
	CHECK_INT(look.count, 0);
}

static void
make_absent(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register of = {
		.range = {(uintptr_t)at, page}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	absent_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (absent_fd < 0 || ioctl(absent_fd, UFFDIO_API, &api) != 0 ||
		ioctl(absent_fd, UFFDIO_REGISTER, &of) != 0)
		absent_fd = -1;
	absent = at;
}

static void *
touch_it(void *arg)
{
	*(_Atomic pid_t *)arg = (pid_t)syscall(SYS_gettid);
	(void)*absent;
	return NULL;
}

/* A thread that waits for a page of a mapping is in no read(), until it asks as one that begins
 * one, or may have begun one. */
static void
faults(void)
{
	struct askers_look look;
	_Atomic pid_t thread = 0;
	pthread_t touches;
	make_absent();
	if (absent_fd < 0)
		return;
	CHECK_INT(pthread_create(&touches, NULL, touch_it, (void *)&thread), 0);
	while (!thread)
		usleep(1000);
	askers_note(&askers, thread);
	askers_look(&askers, &look);
	CHECK_INT(look.count, 1);
	while (!askers_faults(&askers, thread)) /* it is on its way */
		usleep(1000);
	CHECK(askers_are_out(&askers, &look));
	askers_look(&askers, &look);
	CHECK_INT(look.count, 0);

	askers_note(&askers, thread);
	askers_look(&askers, &look);
	CHECK_INT(look.count, 1);
	CHECK(askers_faults(&askers, thread));
	askers_doubt(&askers);
	askers_look(&askers, &look);
	CHECK_INT(look.count, 1);

	struct uffdio_zeropage zero = {.range = {(uintptr_t)absent, (size_t)sysconf(_SC_PAGESIZE)}};
	CHECK_INT(ioctl(absent_fd, UFFDIO_ZEROPAGE, &zero), 0);
	pthread_join(touches, NULL);
	close(absent_fd);
	CHECK(!askers_faults(&askers, thread));
	askers_forget(&askers);
}

/* One that waits in a call may be in a read(). */
static void
waits_in_call(void)
{
	struct askers_look look;
	const struct player p = start(sleep_long);
	wait_state(p.process, 'S');
	askers_note(&askers, p.process);
	CHECK(!askers_faults(&askers, p.process));
	CHECK(!askers_faults(&askers, 0));
	askers_look(&askers, &look);
	CHECK_INT(look.count, 1);
	end(&p);
	askers_forget(&askers);
}

/* Of more threads than there is room for, the last ones are known, and each of them once. */
static void
many(void)
{
	struct askers_look look;
	askers_note(&askers, 0);
	askers_note(&askers, getpid());
	askers_note(&askers, getpid());
	askers_look(&askers, &look);
	CHECK_INT(look.count, 1);
	for (pid_t n = 0; n < 3 * ASKERS; n++)
		askers_note(&askers, 1 << 24 | n); /* more than there can be */
	askers_note(&askers, getpid());
	askers_look(&askers, &look);
	CHECK_INT(look.count, 1);
	CHECK_INT(look.thread[0], getpid());
	askers_forget(&askers);
}

int
main(void)
{
	stands_still();
	sleeps();
	runs();
	faults();
	waits_in_call();
	many();
	return check_end();
}
