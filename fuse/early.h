/* Signals while the store is being opened, which may take all of timeout=: nothing is mounted yet,
 * so SIGTERM, SIGINT and SIGHUP just end the process. They are blocked in all threads, for the
 * session to come; this thread takes them until then. */
#pragma once

struct early;

/* To be called before any other thread is made; blocks the signals of session.h. */
int early_new(struct early **ret);
struct early *early_free(struct early *);
