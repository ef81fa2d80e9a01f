/* write_records.c FILE VARIABLE FIRST ROWS NUMBER: appends records of a variable of ints, one
 * after the other, by libnetcdf: all elements of record k are NUMBER + k. It begins when its input
 * ends, with the file open. */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

static void
check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "%s\n", nc_strerror(error));
	exit(1);
}

int
main(int argc, char **argv)
{
	static int row[1000];
	int file, var, rank, dim[2];
	size_t start[2] = {0}, count[2] = {1, 1}, first, rows;
	if (argc != 6)
		return 2;
	check(nc_open(argv[1], NC_WRITE, &file));
	check(nc_inq_varid(file, argv[2], &var));
	check(nc_inq_varndims(file, var, &rank));
	check(nc_inq_vardimid(file, var, dim));
	if (rank > 1)
		check(nc_inq_dimlen(file, dim[1], &count[1]));
	first = strtoul(argv[3], NULL, 10);
	rows = strtoul(argv[4], NULL, 10);
	puts("open");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	for (start[0] = first; start[0] < first + rows; start[0]++) {
		for (size_t i = 0; i < count[1]; i++)
			row[i] = atoi(argv[5]) + (int)start[0];
		check(nc_put_vara_int(file, var, start, count, row));
		check(nc_sync(file));
	}
	check(nc_close(file));
}
