/* What failed is said once, and a cause that fails everything in a few lines. */
#include "check.h"

#include "fuse/log_once.h"

#include "base/log.h"

static struct {
	unsigned lines;
	char last[2048];
} said;

static void
hear(enum log_level level, const char *line)
{
	CHECK_INT(level, LOG_LEVEL_ERROR);
	said.lines++;
	snprintf(said.last, sizeof said.last, "%s", line);
}

/* Lines that come of n reads that fail, the cause a format with a number in it, of one file or of
 * one each. */
static unsigned
lines_of(unsigned n, bool one_file, const char *cause)
{
	char path[32], text[256];
	said.lines = 0;
	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof path, "file%u", one_file ? 0 : i);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof text, cause, i);
#pragma GCC diagnostic pop
		log_once(&(struct log_once_line){"read", path, NULL, text});
	}
	return said.lines;
}

int
main(void)
{
	log_set_sink(hear);
	CHECK_INT(lines_of(1, true, "chunk 'x/0': truncated"), 1);
	CHECK_STR(said.last, "cannot read 'file0': chunk 'x/0': truncated");
	CHECK_INT(lines_of(99, true, "chunk 'x/0': truncated"), 0);

	/* the same but for the number of the request */
	CHECK_INT(
		lines_of(200, true, "HTTP status 404 NoSuchBucket: gone (request tx0%x-17-de)"), 1);
	CHECK_INT(lines_of(200, true, "after 5 attempts: HTTP 503 (request id 4442587FB7D0%x)"), 1);
	CHECK_INT(lines_of(200, true, "HTTP 502 (request id QZ8+%x/Fbt=), after it"), 1);

	/* many files, one cause */
	unsigned few = lines_of(200, false, "chunk 'd%u/0.0': HTTP status 404 NoSuchKey");
	CHECK(few >= 2 && few <= 10);
	CHECK(strstr(said.last, "counted for a minute"));
	CHECK_INT(lines_of(200, false, "chunk 'e%u/0.0': HTTP status 404 NoSuchKey"), 0);
	CHECK(lines_of(200, false, "8192 bytes instead of 100%u") <= few);

	/* other causes, not fewer for that */
	CHECK_INT(lines_of(1, false, "chunk 'd%u/0.0': HTTP status 403 AccessDenied"), 1);
	CHECK_INT(lines_of(1, false, "chunk 'd%u/0.0': HTTP status 503 NoSuchKey"), 1);
	CHECK_INT(lines_of(1, false, "chunk 'it's %u"), 1);
	CHECK_INT(lines_of(1, false, ""), 1);
	CHECK_STR(said.last, "cannot read 'file0': no reason given");
	return check_end();
}
