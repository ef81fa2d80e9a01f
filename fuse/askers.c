#include "fuse/askers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ticks of 1/100 s, of which the first may have been almost over. A read() that finds no pages asks
 * for them within so much time on a processor: it copies what it has found, at most as many large
 * pages as the kernel takes at once. */
enum { ASKS_WITHIN = 3 };

void
askers_note(struct askers *a, pid_t thread)
{
	if (thread <= 0)
		return;
	for (unsigned i = 0; i < ASKERS; i++) {
		pid_t there = atomic_load_explicit(&a->thread[i], memory_order_relaxed);
		if (!there && atomic_compare_exchange_strong(&a->thread[i], &there, thread))
			return;
		if (there == -thread) /* a read() of that thread has begun */
			atomic_compare_exchange_strong(&a->thread[i], &there, thread);
		if (there == thread || there == -thread)
			return;
	}
	atomic_store(&a->thread[atomic_fetch_add(&a->next, 1) % ASKERS], thread);
}

void
askers_forget(struct askers *a)
{
	for (unsigned i = 0; i < ASKERS; i++)
		atomic_store(&a->thread[i], 0);
}

/* What Linux says of a thread, whichever of its process. False: it is gone, or not seen.
 * (proc_pid_stat(5): behind the name, which may hold any bytes, fields 3, 14 and 15.) */
static bool
find(pid_t thread, char *ret_state, int64_t *ret_ran)
{
	char path[64], line[512];
	unsigned long user = 0, system = 0;
	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)thread, (int)thread);
	FILE *f = fopen(path, "re");
	const char *at = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
	const bool found = at && sscanf(at, ") %c%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%lu%lu", ret_state,
					 &user, &system) == 3;
	if (f)
		fclose(f);
	*ret_ran = (int64_t)(user + system);
	return found;
}

/* proc_pid_syscall(5): -1 of a thread that waits in no call, so in a fault. */
static bool
is_in_fault(pid_t thread)
{
	char path[32], text[4] = "";
	snprintf(path, sizeof path, "/proc/%d/syscall", (int)thread);
	FILE *f = fopen(path, "re");
	const bool found = f && fgets(text, sizeof text, f);
	if (f)
		fclose(f);
	return found && !strcmp(text, "-1 ");
}

static bool
is_in_no_read(const struct askers *a, pid_t thread)
{
	bool found = false;
	for (unsigned i = 0; i < ASKERS; i++)
		found |= atomic_load(&a->thread[i]) == -thread;
	return found;
}

bool
askers_faults(struct askers *a, pid_t thread)
{
	if (thread <= 0)
		return false;
	if (is_in_no_read(a, thread))
		return true;
	if (!is_in_fault(thread))
		return false;
	for (unsigned i = 0; i < ASKERS; i++) {
		pid_t there = thread;
		atomic_compare_exchange_strong(&a->thread[i], &there, -thread);
	}
	return true;
}

void
askers_doubt(struct askers *a)
{
	for (unsigned i = 0; i < ASKERS; i++) {
		pid_t there = atomic_load(&a->thread[i]);
		if (there < 0)
			atomic_compare_exchange_strong(&a->thread[i], &there, -there);
	}
}

/* May it be in the midst of a read() that began when it had run so long? It is not if it waits for
 * something else than a processor or a page. */
static bool
may_read(pid_t thread, int64_t ran)
{
	char state;
	int64_t now;
	return find(thread, &state, &now) && (state == 'R' || state == 'D') &&
	       now - ran < ASKS_WITHIN;
}

void
askers_look(const struct askers *a, struct askers_look *ret)
{
	ret->count = 0;
	for (unsigned i = 0; i < ASKERS; i++) {
		const pid_t thread = atomic_load(&a->thread[i]);
		char state;
		int64_t now;
		if (thread <= 0 || !find(thread, &state, &now))
			continue;
		ret->thread[ret->count] = thread;
		ret->ran[ret->count++] = now;
	}
}

bool
askers_are_out(const struct askers *a, struct askers_look *l)
{
	unsigned left = 0;
	for (unsigned i = 0; i < l->count; i++) {
		if (is_in_no_read(a, l->thread[i]) || !may_read(l->thread[i], l->ran[i]))
			continue;
		l->thread[left] = l->thread[i];
		l->ran[left++] = l->ran[i];
	}
	l->count = left;
	return !left;
}

int64_t
askers_quiet(void)
{
	double load = 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (getloadavg(&load, 1) != 1 || cpus < 1)
		return ASKERS_QUIET;
	load /= (double)cpus;
	load = load < 1 ? 1 : load > ASKERS_BUSIEST ? ASKERS_BUSIEST : load;
	return (int64_t)((double)ASKERS_QUIET * load);
}
