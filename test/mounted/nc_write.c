/* nc_write.c: writes a plane of t, calls nc_sync and is killed */
#include <netcdf.h>
#include <signal.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	enum { N = 20 * 30 };
	const size_t start[] = {1, 0, 0}, count[] = {1, 20, 30};
	float plane[N];
	int file, t;
	for (int i = 0; i < N; i++)
		plane[i] = (float)i + 0.5f;
	if (argc != 2 || nc_open(argv[1], NC_WRITE, &file) || nc_inq_varid(file, "t", &t) ||
		nc_put_vara_float(file, t, start, count, plane) || nc_sync(file))
		return 1;
	kill(getpid(), SIGKILL);
}
