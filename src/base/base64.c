#include "base/base64.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

/* The six bits of a letter, or -1. */
static int
six_bits(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static int
decode(const char *text, size_t len, struct buf *ret)
{
	uint32_t bits = 0;
	unsigned letters = 0, padding = 0;
	for (size_t i = 0; i < len; i++) {
		if (strchr(" \t\r\n", text[i]) && text[i])
			continue;
		int six = text[i] == '=' ? 0 : six_bits(text[i]);
		padding += text[i] == '=';
		if (six < 0 || padding > 2 || (padding && text[i] != '='))
			return err_set(-EINVAL, "not base64");
		bits = bits << 6 | (uint32_t)six;
		if (++letters % 4)
			continue;
		uint8_t bytes[3] = {(uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits};
		int r = buf_add(ret, bytes, 3 - padding);
		if (r < 0)
			return r;
	}
	return letters % 4 ? err_set(-EINVAL, "base64 is cut off") : 0;
}

int
base64_decode(const char *text, size_t len, struct buf *ret)
{
	size_t before = ret->len;
	int r = decode(text, len, ret);
	if (r < 0)
		ret->len = before;
	return r;
}

int
base64_encode(struct span bytes, struct buf *ret)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	int r = 0;
	for (size_t i = 0; i < bytes.len && r == 0; i += 3) {
		size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
		uint32_t bits = 0;
		char text[4] = {'=', '=', '=', '='};
		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (j < n ? bytes.data[i + j] : 0);
		for (size_t j = 0; j <= n; j++)
			text[j] = letters[bits >> (18 - 6 * j) & 63];
		r = buf_add(ret, text, sizeof text);
	}
	return r;
}
