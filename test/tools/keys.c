/* keys STORE COMMAND...: what is in a store, and what is put there, one command after the other in
 * one opening:
 *
 *   try                  can it be written? Prints what does not hold.
 *   put KEY FILE         the file's bytes; makes KEY what it is
 *   new KEY FILE         only if nothing is there
 *   del KEY
 *   get KEY              to stdout
 *   ls PREFIX            "" or with '/' at its end; a name a line, prefixes with '/'
 *   version KEY
 *   sync
 *   wait FILE            prints "waiting", until there is such a file
 *   rewrite KEY N        N puts of 1 MiB of one letter each, with a sync after each; prints the
 *                        letter when it is done
 *
 * Says what fails, and goes on; the exit status is then 1. */
#include "base/err.h"
#include "base/url.h"
#include "store/zmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
read_file(const char *path, struct buf *ret)
{
	char piece[65536];
	FILE *f = fopen(path, "r");
	if (!f)
		return err_sys(errno, "cannot open '%s'", path);
	int r = 0;
	for (size_t n; r == 0 && (n = fread(piece, 1, sizeof piece, f)) > 0;)
		r = buf_add(ret, piece, n);
	fclose(f);
	return r;
}

static int
put(struct zmap *z, const char *key, const char *file, bool new)
{
	CLEAN(buf_free) struct buf b = {0};
	int r = read_file(file, &b);
	const struct zmap_put p = {.key = key, .bytes = buf_span(&b), .if_absent = new};
	return r < 0 ? r : zmap_put(z, &p, NULL);
}

static int
get(struct zmap *z, const char *key)
{
	CLEAN(buf_free) struct buf b = {0};
	int r = zmap_get(z, &(struct zmap_get){.key = key, .into = &b, .max = SIZE_MAX / 2}, NULL);
	if (r == 0 && b.len)
		fwrite(b.data, b.len, 1, stdout);
	return r;
}

static int
see(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	printf("%s%s\n", name, prefix ? "/" : "");
	return 0;
}

static int
version(struct zmap *z, const char *key)
{
	struct zmap_stat s;
	int r = zmap_stat(z, key, &s);
	if (r == 0)
		puts(s.version);
	return r;
}

static int
try(struct zmap *z)
{
	CLEAN(buf_free) struct buf said = {0};
	int r = zmap_try_writing(z, &said);
	if (said.len)
		fwrite(said.data, said.len, 1, stdout);
	return r;
}

static int
wait_for(const char *file)
{
	puts("waiting");
	fflush(stdout);
	while (access(file, F_OK) != 0)
		usleep(5000);
	return 0;
}

static int
rewrite(struct zmap *z, const char *key, long n)
{
	enum { LEN = 1 << 20 };
	char *text = malloc(LEN);
	int r = text ? 0 : -ENOMEM;
	for (long i = 0; i < n && r == 0; i++) {
		memset(text, 'a' + (int)(i % 26), LEN);
		r = zmap_put(z, &(struct zmap_put){key, {(uint8_t *)text, LEN}}, NULL);
		if (r == 0)
			r = zmap_sync(z);
		if (r == 0)
			printf("%c\n", *text);
		fflush(stdout);
	}
	free(text);
	return r;
}

/* How many arguments the command takes; 0: there is no such command. */
static int
run(struct zmap *z, char **word, int *ret)
{
	static const struct {
		const char *name;
		int words;
	} command[] = {{"try", 1}, {"sync", 1}, {"put", 3}, {"new", 3}, {"rewrite", 3}, {"del", 2},
		{"get", 2}, {"ls", 2}, {"version", 2}, {"wait", 2}};
	size_t i = 0;
	while (i < sizeof command / sizeof *command && strcmp(word[0], command[i].name) != 0)
		i++;
	if (i == sizeof command / sizeof *command)
		return 0;
	for (int k = 1; k < command[i].words; k++)
		if (!word[k])
			return 0;
	switch (word[0][0]) {
	case 't': *ret = try(z); break;
	case 's': *ret = zmap_sync(z); break;
	case 'p': *ret = put(z, word[1], word[2], false); break;
	case 'n': *ret = put(z, word[1], word[2], true); break;
	case 'r': *ret = rewrite(z, word[1], atol(word[2])); break;
	case 'd': *ret = zmap_del(z, &(struct zmap_del){word[1]}); break;
	case 'g': *ret = get(z, word[1]); break;
	case 'l': *ret = zmap_list(z, word[1], see, NULL); break;
	case 'v': *ret = version(z, word[1]); break;
	default: *ret = wait_for(word[1]); break;
	}
	return command[i].words;
}

static int
say(const char *what, int r)
{
	static const char *const outcome[] = {"", "absent", "same", "changed", "far"};
	fprintf(stderr, "%s: %s\n", what, r < 0 ? err_text() : outcome[r]);
	return 1;
}

int
main(int argc, char **argv)
{
	struct url u;
	struct zmap *z = NULL;
	int status = 0;
	if (argc < 2)
		return 2;
	int r = url_parse(argv[1], &u);
	if (r == 0)
		r = zmap_open(
			&u, &(struct zmap_options){.writable = true, .timeout = 60 * SECOND}, &z);
	if (r < 0)
		return say(argv[1], r);
	for (int i = 2, n; i < argc; i += n) {
		r = 0;
		n = run(z, argv + i, &r);
		if (!n)
			return say(argv[i], err_set(-EINVAL, "no command"));
		if (r)
			status = say(argv[i], r);
		fflush(stdout);
	}
	zmap_close(z);
	url_free(&u);
	return status;
}
