/* mapped FILE OFF WRITTEN OFF PAGES BYTES ROUNDS SEED: a process changes one byte of any page that
 * it maps, this one writes BYTES at once at random, of the same elements (OFF: where they begin in
 * either file). What it wrote is there, whatever pages come back, and so is what the other changed
 * in pages of which only parts are written. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, OWN = 4090 /* the byte of a page that only the mapping changes */ };

struct common {
	atomic_bool end;
	atomic_long at; /* of the write that is under way */
	unsigned char own[];
};

static void
must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void
read_all(int fd, void *to, long n, long off)
{
	for (long done = 0, got; done < n; done += got)
		must((got = pread(fd, (char *)to + done, (size_t)(n - done), off + done)) > 0,
			"read");
}

static void
change(const char *path, long off, long pages, long bytes, struct common *c)
{
	int fd = open(path, O_RDWR);
	must(fd >= 0, path);
	size_t size = (size_t)(pages * PAGE);
	unsigned char *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
	must(m != MAP_FAILED, "mmap");
	while (!atomic_load(&c->end)) {
		long near = atomic_load(&c->at) / PAGE + random() % (bytes / PAGE + 2),
		     p = (random() % 2 ? near : random()) % pages;
		m[p * PAGE + OWN] = c->own[p] = (unsigned char)random();
		if (random() % 256 == 0)
			must(msync(m, size, MS_SYNC) == 0, "msync");
	}
	must(msync(m, size, MS_SYNC) == 0, "msync");
	exit(0);
}

/* Bytes of the writer's that are others. */
static long
undone(const unsigned char *got, const unsigned char *want, long off, long n)
{
	long others = 0;
	for (long i = 0; i < n; i++)
		others += (off + i) % PAGE != OWN && got[i] != want[i];
	return others;
}

int
main(int argc, char **argv)
{
	must(argc == 9, "eight words");
	const long base = atol(argv[4]), pages = atol(argv[5]), bytes = atol(argv[6]),
		   rounds = atol(argv[7]), size = pages * PAGE;
	struct common *c = mmap(NULL, sizeof *c + (size_t)pages, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned char *want = malloc((size_t)size), *got = malloc((size_t)size);
	int fd = open(argv[3], O_RDWR), status = 0;
	must(fd >= 0, argv[3]);
	read_all(fd, want, size, base);
	for (long p = 0; p < pages; p++)
		c->own[p] = want[p * PAGE + OWN];
	srandom((unsigned)atol(argv[8]));
	pid_t pid = fork();
	if (!pid)
		change(argv[1], atol(argv[2]), pages, bytes, c);
	long wrong = 0;
	for (long i = 0; i < rounds; i++) {
		long at = bytes < PAGE ? random() % pages * PAGE + random() % (OWN - bytes)
				       : random() % (size - bytes);
		for (long k = 0; k < bytes; k++)
			want[at + k] = (unsigned char)random();
		atomic_store(&c->at, at);
		for (long n = 0, r; n < bytes; n += r)
			must((r = pwrite(fd, want + at + n, (size_t)(bytes - n), base + at + n)) >
					0,
				"write");
		read_all(fd, got, bytes, base + at);
		wrong += undone(got, want + at, at, bytes) != 0;
	}
	atomic_store(&c->end, 1);
	must(waitpid(pid, &status, 0) == pid && !status, "the mapping");
	must(fsync(fd) == 0, "fsync");
	read_all(fd, got, size, base);
	long last = undone(got, want, 0, size), lost = 0;
	for (long p = 0; p < pages && bytes < PAGE; p++)
		lost += got[p * PAGE + OWN] != c->own[p];
	if (wrong || last || lost)
		printf("%ld writes and at the end %ld bytes undone, %ld of the mapping lost\n",
			wrong, last, lost);
	return wrong || last || lost;
}
