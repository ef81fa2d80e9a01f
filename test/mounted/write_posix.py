"""write_posix.py MOUNT: what pjdfstest asks of a file system, as far as the contract promises it."""
import errno
import os
import stat
import sys

top = sys.argv[1]
bad = []


def at(name):
    return os.path.join(top, name)


def gives(want, what, *args, **how):
    """The call fails with one of these numbers; 0: it does not fail."""
    wants = want if isinstance(want, tuple) else (want,)
    try:
        r = what(*args, **how)
        if what is os.open:
            os.close(r)
        got = 0
    except OSError as e:
        got = e.errno
    if got not in wants:
        bad.append("%s%s: %s, not %s" % (what.__name__, args, errno.errorcode.get(got, got), [errno.errorcode.get(w, w) for w in wants]))


def names():
    return sorted(os.listdir(top))


def refresh():
    with open(at(".zarrfs/refresh"), encoding="utf8") as f:
        f.read()


before, size = names(), os.path.getsize(at("a"))
# open
gives(errno.ENOENT, os.open, at("none"), os.O_RDWR)
gives(errno.ENOENT, os.open, at("none/a"), os.O_RDWR | os.O_CREAT)
gives(errno.ENOTDIR, os.open, at("a/b"), os.O_RDONLY)
gives(errno.EISDIR, os.open, at("g"), os.O_RDWR)
gives(errno.EEXIST, os.open, at("a"), os.O_RDWR | os.O_CREAT | os.O_EXCL)
gives(errno.ENOTDIR, os.open, at("a"), os.O_RDONLY | os.O_DIRECTORY)
gives(errno.ENAMETOOLONG, os.open, at("n" * 256), os.O_RDWR)
gives(0, os.open, at("a"), os.O_RDWR | os.O_NOFOLLOW)
for view in ("a.csv", "a.npy", "a.cdl", "a.nc4", ".zarrfs/log"):
    gives((errno.EACCES, errno.ENOENT) if view == "a.cdl" else errno.EACCES, os.open, at(view), os.O_WRONLY)
    gives((errno.EACCES, errno.ENOENT) if view == "a.cdl" else errno.EACCES, os.truncate, at(view), 0)
# what was opened to be read is not written, and the other way round
fd = os.open(at("a"), os.O_RDONLY)
gives(errno.EBADF, os.pwrite, fd, b"1234", 0)
gives(errno.EINVAL, os.ftruncate, fd, 0)
os.close(fd)
fd = os.open(at("a"), os.O_WRONLY)
gives(errno.EBADF, os.pread, fd, 4, 0)
os.close(fd)
# truncate
gives(errno.EINVAL, os.truncate, at("a"), size - 1)
gives((errno.EINVAL, errno.EFBIG), os.truncate, at("a"), size + 4)
gives(errno.EISDIR, os.truncate, at("g"), 0)
gives(errno.ENOENT, os.truncate, at("none"), 0)
gives(0, os.truncate, at("a"), size)
fd = os.open(at("a"), os.O_RDWR)
gives(errno.EFBIG, os.pwrite, fd, b"1234", size)
gives(errno.EFBIG, os.close, fd)  # errors stick
refresh()
# and are forgotten by a refresh, though the kernel releases files after close() has returned
for i in range(500):
    many = [os.open(at("a"), os.O_RDWR) for _ in range(4)]
    gives(errno.EFBIG, os.pwrite, many[0], b"1234", size)
    for fd in many:
        gives(errno.EFBIG, os.close, fd)
    refresh()
    gives(0, os.open, at("a"), os.O_RDWR)
# directories
gives(0, os.mkdir, at("d"))
gives(errno.EEXIST, os.mkdir, at("d"))
gives(errno.EEXIST, os.mkdir, at("a"))
gives(errno.ENOENT, os.mkdir, at("none/d"))
gives(errno.ENOTDIR, os.mkdir, at("a/d"))
gives(errno.ENOTDIR, os.rmdir, at("a"))
gives(errno.ENOTEMPTY, os.rmdir, at("g"))
gives(errno.ENOENT, os.rmdir, at("none"))
gives((errno.EISDIR, errno.EPERM), os.unlink, at("d"))
gives(0, os.rmdir, at("d"))
gives(errno.ENOENT, os.rmdir, at("d"))
# names that are there stay
gives(errno.EPERM, os.unlink, at("a"))
gives(errno.ENOENT, os.unlink, at("none"))
gives(errno.EPERM, os.rename, at("a"), at("c"))
gives(errno.EPERM, os.rename, at("a.nc"), at("c.nc"))
gives((errno.EPERM, errno.EACCES), os.rename, at("g"), at("h"))
gives(errno.ENOENT, os.rename, at("none"), at("c"))
gives(errno.EPERM, os.link, at("a"), at("c"))
gives(errno.EPERM, os.symlink, "a", at("c"))
gives(errno.EPERM, os.mkfifo, at("c"))
gives(errno.EPERM, os.mknod, at("c"), stat.S_IFREG | 0o644)
# scratch
gives(0, os.open, at("s"), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
gives(errno.EEXIST, os.open, at("s"), os.O_RDWR | os.O_CREAT | os.O_EXCL)
fd = os.open(at("s"), os.O_RDWR | os.O_APPEND)
os.write(fd, b"one")
os.write(fd, b"two")
gives(0, os.ftruncate, fd, 100)
assert os.fstat(fd).st_size == 100 and os.pread(fd, 10, 0) == b"onetwo\0\0\0\0"
gives(0, os.rename, at("s"), at("s2"))
gives(errno.ENOENT, os.stat, at("s"))
assert os.fstat(fd).st_size == 100 and os.pread(fd, 6, 0) == b"onetwo"
gives(0, os.unlink, at("s2"))
assert os.pread(fd, 6, 0) == b"onetwo" and os.fstat(fd).st_nlink in (0, 1)
os.close(fd)
gives(errno.ENOENT, os.stat, at("s2"))
# what changes nothing
mode = os.stat(at("a")).st_mode
gives(0, os.chmod, at("a"), 0o600)
gives(0, os.utime, at("a"), (1, 2))
gives(0, os.utime, at("a"))
gives(0, os.chown, at("a"), os.getuid(), os.getgid())
assert os.stat(at("a")).st_mode == mode and stat.S_ISREG(mode)
assert os.access(at("a"), os.W_OK) and os.path.getsize(at("a")) == size
# mtime follows what is written
was = os.stat(at("a")).st_mtime_ns
with open(at("a"), "r+b") as f:
    f.write(b"1234")
now = os.stat(at("a")).st_mtime_ns
if now <= was:
    bad.append("mtime went from %d to %d" % (was, now))
if names() != before:
    bad.append("names are %s, not %s" % (names(), before))
sys.exit("\n".join(bad) or 0)
