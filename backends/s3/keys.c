#include "backends/s3/keys.h"

#include "base/buf.h"
#include "base/check.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pages {
	struct s3_keys keys;
	size_t size;
	char text[];
};

static const char *
put(char **to, const char *text)
{
	size_t n = strlen(text) + 1;
	char *at = *to;
	memcpy(at, text, n);
	*to += n;
	return at;
}

struct s3_keys *
keys_new(const char *id, const char *secret, const char *token, int64_t expires)
{
	bool has_token = token && *token;
	size_t size = sizeof(struct pages) + strlen(id) + strlen(secret) + 3;
	size += has_token ? strlen(token) : 0;
	size = (size_t)round_up(size, (uint64_t)sysconf(_SC_PAGESIZE));
	struct pages *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_DONTDUMP);
	char *to = p->text;
	p->size = size;
	p->keys.refs = 1;
	p->keys.id = put(&to, id);
	p->keys.secret = put(&to, secret);
	p->keys.token = has_token ? put(&to, token) : NULL;
	p->keys.expires = expires;
	return &p->keys;
}

struct s3_keys *
keys_ref(struct s3_keys *k)
{
	if (k)
		atomic_fetch_add(&k->refs, 1);
	return k;
}

struct s3_keys *
keys_unref(struct s3_keys *k)
{
	if (!k || atomic_fetch_sub(&k->refs, 1) > 1)
		return NULL;
	struct pages *p = (struct pages *)(void *)k; /* its first member */
	size_t size = p->size;
	explicit_bzero(p, size);
	munmap(p, size);
	return NULL;
}

void
secret_free(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void
secret_buf_free(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_free(b);
}
