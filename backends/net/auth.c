#include "backends/net/auth.h"

#include "backends/net/netrc.h"
#include "backends/net/userfile.h"
#include "base/base64.h"
#include "base/clean.h"
#include "base/err.h"
#include "store/zmap.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
auth_free(char *auth)
{
	if (auth)
		explicit_bzero(auth, strlen(auth));
	free(auth);
}

static void
wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_free(b);
}

static int
write_auth(const char *scheme, const char *secret, size_t len, char **ret)
{
	if (asprintf(ret, "%s %.*s", scheme, (int)len, secret) >= 0)
		return 0;
	*ret = NULL;
	return err_set(-ENOMEM, "no memory for credentials");
}

/* Without its port. NULL: no memory. */
static char *
host_of(const struct url *u)
{
	return *u->host == '[' ? strndup(u->host + 1, strcspn(u->host + 1, "]"))
			       : strndup(u->host, strcspn(u->host, ":"));
}

/* A token goes only to a server that TLS has proved to be the one named. */
static int
use_token(const struct url *u, const char *token, size_t len, char **ret)
{
	CLEAN(clean_free) char *host = host_of(u);
	if (!host)
		return err_set(-ENOMEM, "no memory for a name");
	bool here = !strcmp(host, "127.0.0.1") || !strcmp(host, "::1") ||
		    !strcasecmp(host, "localhost");
	if (strcmp(u->scheme, "https") != 0 && !here)
		return err_set(-EINVAL, "a token is sent by https only");
	while (len && isspace((unsigned char)token[len - 1]))
		len--;
	for (; len && isspace((unsigned char)*token); len--)
		token++;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)token[i]))
			return err_set(-EINVAL, "a token is one word");
	if (!len)
		return err_set(-EINVAL, "there is no token in it");
	return write_auth("Bearer", token, len, ret);
}

static int
use_netrc(const struct url *u, char **ret)
{
	const char *named = getenv("NETRC");
	CLEAN(clean_free)
	char *path = named && *named ? strdup(named) : userfile_at_home(NULL, ".netrc");
	CLEAN(clean_free) char *host = host_of(u);
	CLEAN(wipe) struct buf text = {0};
	CLEAN(wipe) struct buf found = {0};
	CLEAN(wipe) struct buf coded = {0};
	if (!path || !host)
		return err_set(-ENOMEM, "no memory for a name");
	int r = userfile_read(path, &text);
	if (r == USERFILE_NONE)
		return 0;
	if (r == 0)
		r = netrc_find(buf_span(&text), host, &found);
	if (r == 0)
		r = base64_encode(buf_span(&found), &coded);
	if (r)
		return r == ZMAP_ABSENT ? 0 : r;
	return write_auth("Basic", (char *)coded.data, coded.len, ret);
}

int
auth_find(const struct url *u, bool tokens, const char *token_file, char **ret)
{
	CLEAN(wipe) struct buf token = {0};
	const char *env = getenv("ZARRFS_HTTP_TOKEN");
	*ret = NULL;
	if (!tokens || (!token_file && (!env || !*env)))
		return use_netrc(u, ret);
	if (!token_file) {
		int r = use_token(u, env, strlen(env), ret);
		return r < 0 ? err_add(r, "ZARRFS_HTTP_TOKEN") : 0;
	}
	int r = userfile_read(token_file, &token);
	if (r == USERFILE_NONE)
		r = err_set(-ENOENT, "there is no such file");
	if (r == 0)
		r = use_token(u, (char *)token.data, token.len, ret);
	return r < 0 ? err_add(r, "http_token_file '%s'", token_file) : 0;
}
