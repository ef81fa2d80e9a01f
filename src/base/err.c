#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[ERR_TEXT];

int
err_set(int code, const char *fmt, ...)
{
	char new[ERR_TEXT]; /* an argument may be the old text */
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(new, sizeof new, fmt, ap);
	va_end(ap);
	memcpy(text, new, strlen(new) + 1);
	return code;
}

static void
prefix(const char *fmt, va_list ap, const char *cause)
{
	char new[ERR_TEXT];
	int n = vsnprintf(new, sizeof new, fmt, ap);
	size_t used = n < 0 ? 0 : (size_t)n < sizeof new ? (size_t)n : sizeof new - 1;
	if (*cause)
		snprintf(new + used, sizeof new - used, ": %s", cause);
	memcpy(text, new, strlen(new) + 1);
}

int
err_add(int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	prefix(fmt, ap, text);
	va_end(ap);
	return code;
}

int
err_sys(int errnum, const char *fmt, ...)
{
	char why[128];
	va_list ap;
	va_start(ap, fmt);
	prefix(fmt, ap, strerror_r(errnum, why, sizeof why));
	va_end(ap);
	return -errnum;
}

const char *
err_text(void)
{
	return text;
}

void
err_clear(void)
{
	text[0] = 0;
}

void
err_save(int code, struct err *ret)
{
	ret->code = code;
	memcpy(ret->text, text, sizeof text);
}

int
err_restore(const struct err *e)
{
	memcpy(text, e->text, sizeof text);
	return e->code;
}
