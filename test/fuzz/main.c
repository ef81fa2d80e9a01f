/* Runs a fuzzer over files, or over all files of a directory, without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f) {
		perror(path);
		exit(1);
	}
	static uint8_t bytes[1 << 20];
	size_t n = fread(bytes, 1, sizeof bytes, f);
	fclose(f);
	uint8_t *exact = malloc(n ? n : 1); /* so that a sanitizer sees reads past the end */
	if (!exact)
		exit(1);
	memcpy(exact, bytes, n);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		if (!d) {
			run_file(argv[i]);
			continue;
		}
		for (struct dirent *e; (e = readdir(d));) {
			char path[4096];
			snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
			if (e->d_name[0] != '.')
				run_file(path);
		}
		closedir(d);
	}
	return 0;
}
