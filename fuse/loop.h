/* The threads of a session, which take requests from the kernel and run them. In place of
 * fuse_session_loop_mt, which takes a lock before each request and after it. */
#pragma once

struct fuse_session;

/* Until the session ends: at most so many threads, begun as they are needed. Returns once all of
 * them have ended. 0, or -EIO: the connection to the kernel is lost, or there is no first thread.
 */
int loop_run(struct fuse_session *, unsigned threads);
