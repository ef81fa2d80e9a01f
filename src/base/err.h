/* The reason that travels with a negative code.
 *
 * The function that finds a failure says why: return err_set(-EIO, "chunk is truncated");
 * one that leaves a layer may say what it was doing: return err_add(r, "cannot read '%s'", key);
 * one that only passes a code on stays silent. The text is thread-local; it is valid until the next
 * err_set of the thread. Only the program's edge (fuse/ops, main) logs it, once.
 * All calls are safe from every thread; none touches errno. */
#pragma once

#include <stddef.h>

enum { ERR_TEXT = 1024 };

/* A failure on its way to another thread. */
struct err {
	int code;
	char text[ERR_TEXT];
};

/* code is -errno (< 0) and is returned. The text starts lower case and has no full stop. */
int err_set(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "what: " before the present text. Returns code unchanged. */
int err_add(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* From an errno value of a system call (a positive number): "what: strerror". Returns -errnum. */
int err_sys(int errnum, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Never NULL; "" when nothing was said. */
const char *err_text(void);
void err_clear(void);

void err_save(int code, struct err *ret);
/* Makes a saved failure this thread's own. Returns its code. */
int err_restore(const struct err *);
