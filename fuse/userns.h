/* A user and mount namespace of this process's own, where it may mount without root and without
 * fusermount3. Users and rights stay what they are; what is mounted there is seen by this process
 * and those that it starts, and ends with them. */
#pragma once

/* To be called before any thread is made. 0, or -errno: many a system forbids it. */
int userns_enter(void);
