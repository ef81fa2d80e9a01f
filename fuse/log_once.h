/* Failures of requests, each logged once by what failed: a line that was said within the last
 * minute is counted instead, and the count is said with it the next time; so is what comes after
 * some lines with one kind of cause (the same words, whatever the names and numbers), however many
 * files fail of it. The number that a server gave the request makes no difference. Safe from every
 * thread. */
#pragma once

struct log_once_line {
	const char *verb; /* "read" */
	const char *path; /* in the mount; "" for its root */
	const char *name; /* of the child that was asked for; "" or NULL: none */
	const char *cause;
};

void log_once(const struct log_once_line *);
/* What mount_on_note wants told. */
void log_once_note(void *arg, const char *line);
