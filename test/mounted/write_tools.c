/* fsx FILE PLAIN SEED STEPS ROW: the same random operations on a mounted flat file and on a plain
 * one, of which each read, size and, at the end, all bytes must be alike. ROW 0: the file keeps its
 * length, as fsx -L; else bytes of a row: it grows and is cut to whole rows (-t). What a write past
 * the end leaves out of its last row is zeros. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 1 << 17, ROWS = 64 };

static struct {
	const char *path;
	int fd;
} file[2];
static unsigned char bytes[MOST], seen[2][MOST];
static unsigned long step, seed;
static long row;

static long
size_of(int i)
{
	struct stat s;
	return fstat(file[i].fd, &s) < 0 ? -1 : (long)s.st_size;
}

static void
fail(const char *what)
{
	fprintf(stderr, "seed %lu, step %lu: %s: %s\n", seed, step, what, strerror(errno));
	exit(1);
}

static void
must(int ok, const char *what)
{
	if (!ok)
		fail(what);
}

static long
below(long n)
{
	return n > 0 ? random() % n : 0;
}

static void
open_both(void)
{
	for (int i = 0; i < 2; i++)
		must((file[i].fd = open(file[i].path, O_RDWR)) >= 0, "open");
}

static void
reopen(void)
{
	for (int i = 0; i < 2; i++)
		must(close(file[i].fd) == 0, "close");
	open_both();
}

static void
all_written(int i, long off, long n)
{
	for (long done = 0; done < n;) {
		long k = pwrite(file[i].fd, bytes + done, (size_t)(n - done), off + done);
		must(k > 0, "pwrite");
		done += k;
	}
}

static long
all_read(int i, long off, long n)
{
	long done = 0, k;
	while (done < n &&
		(k = pread(file[i].fd, seen[i] + done, (size_t)(n - done), off + done)) > 0)
		done += k;
	return done;
}

static void
check(long off, long n)
{
	must(all_read(0, off, n) == all_read(1, off, n), "pread: another length");
	for (long i = 0; i < n; i++)
		if (seen[0][i] != seen[1][i]) {
			fprintf(stderr, "byte %ld is %d, not %d\n", off + i, seen[0][i],
				seen[1][i]);
			errno = 0;
			fail("pread");
		}
}

static void
fill(long n)
{
	for (long i = 0; i < n; i++)
		bytes[i] = (unsigned char)random();
}

/* A piece of the file; grow: maybe behind its end, in whole rows there, as the last close would
 * leave it. */
static long
piece(int grow, long *off)
{
	long size = size_of(1), n = 1 + below(random() % 4 ? 300 : 30000);
	*off = below(size);
	if (grow && row && size < ROWS * row && random() % 4 == 0) {
		*off = size + below(3) * row;
		return row * (1 + below(3));
	}
	return *off + n > size ? size - *off : n;
}

static void
map_one(int i, long off, long n)
{
	unsigned char *m =
		mmap(NULL, (size_t)(off + n), PROT_READ | PROT_WRITE, MAP_SHARED, file[i].fd, 0);
	must(m != MAP_FAILED, "mmap");
	memcpy(m + off, bytes, (size_t)n);
	must(msync(m, (size_t)(off + n), MS_SYNC) == 0, "msync");
	munmap(m, (size_t)(off + n));
}

static void
cut(void)
{
	long rows = 1 + below(ROWS);
	for (int i = 0; i < 2; i++)
		must(ftruncate(file[i].fd, rows * row) == 0, "ftruncate");
}

static void
one(void)
{
	long off, n;
	int what = (int)below(100);
	if (what < 40) {
		n = piece(1, &off);
		fill(n);
		for (int i = 0; i < 2; i++)
			all_written(i, off, n);
	} else if (what < 70) {
		n = piece(0, &off);
		check(off, n);
	} else if (what < 82) {
		n = piece(0, &off);
		fill(n);
		for (int i = 0; i < 2 && n; i++)
			map_one(i, off, n);
	} else if (what < 88) {
		for (int i = 0; i < 2; i++)
			must(fsync(file[i].fd) == 0, "fsync");
	} else if (what < 94) {
		reopen();
	} else if (row && what < 97) {
		cut();
	} else {
		posix_fadvise(file[0].fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	must(size_of(0) == size_of(1), "another size");
}

int
main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	file[0].path = argv[1];
	file[1].path = argv[2];
	seed = strtoul(argv[3], NULL, 10);
	const unsigned long steps = strtoul(argv[4], NULL, 10);
	row = atol(argv[5]);
	srandom((unsigned)seed);
	open_both();
	for (; step < steps; step++)
		one();
	reopen();
	for (long off = 0, size = size_of(1); off < size; off += MOST)
		check(off, size - off < MOST ? size - off : MOST);
	return 0;
}
