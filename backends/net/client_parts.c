/* What requests and replies of the client consist of. */
#include "backends/net/http_loop.h"

#include "base/clean.h"
#include "base/err.h"

#include <errno.h>
#include <stdio.h>

void
client_reply_free(struct client_reply *r)
{
	buf_free(&r->body);
}

/* Both of the server's times are cut to seconds, and an answer takes a while: what is below two is
 * no difference of the clocks. Else chunks that are that young would each cost a look at the
 * metadata. */
int64_t
client_placed(const struct client_reply *r)
{
	int64_t ahead = r->date ? r->heard - r->date - r->age : 0;
	if (ahead > 0 && ahead < 2 * SECOND)
		ahead = 0;
	int64_t placed = 0;
	if (r->modified && __builtin_add_overflow(r->modified, ahead + SECOND, &placed))
		placed = INT64_MAX - 1;
	return placed;
}

static bool
printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

int
client_header(struct client_attempt *a, const char *name, const char *value)
{
	CLEAN(clean_free) char *line = NULL;
	if (!printable(name) || !printable(value))
		return err_set(-EINVAL, "a control character in header '%.32s'", name);
	/* curl's way to say "with nothing behind it" */
	int n = *value ? asprintf(&line, "%s: %s", name, value) : asprintf(&line, "%s;", name);
	if (n < 0)
		line = NULL;
	struct curl_slist *more = line ? curl_slist_append(a->headers, line) : NULL;
	if (!more)
		return err_set(-ENOMEM, "no memory for a header");
	a->headers = more;
	return 0;
}
