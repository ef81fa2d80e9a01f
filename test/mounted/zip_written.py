"""make FOLDER: archives as programs make them, all with the members of MEMBERS, and what else they have. check FOLDER ARCHIVE: what was written
into it (zip_written.sh says what) is there, and all else is as it was in ARCHIVE.orig."""

import os
import sys
import zipfile

MEMBERS = {".zgroup": b'{"zarr_format": 2}', "v/.zarray": b"{}" * 200, "v/0": bytes(range(256)) * 64, "v/1": b"one" * 1000, "v/2": b"", "w/only": b"gone"}
WRITTEN = {"v/0": b"new bytes", "v/2": b"more", "n/new/x": b"x" * 100000}
DELETED = ["v/1", "w/only"]
STUB = b"#!/bin/sh\nexit 0\n" + bytes(1000)


class Stream:
    """A file that cannot go back: sizes come behind the bytes."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def info(name, method, mode=0o640):
    entry = zipfile.ZipInfo(name, (1999, 12, 31, 23, 59, 58))
    entry.compress_type = method
    entry.external_attr = mode << 16
    return entry


def fill(archive, prefix="", method=zipfile.ZIP_DEFLATED, big=False):
    for name, data in MEMBERS.items():
        with archive.open(info(prefix + name, method), "w", force_zip64=big) as member:
            member.write(data)


def make(folder):
    def path(name):
        return os.path.join(folder, name + ".zip")

    for name, method in ("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(path(name), "w") as archive:
            fill(archive, method=method)
            archive.comment = b"a comment"
    with zipfile.ZipFile(path("zip64"), "w") as archive:
        fill(archive, big=True)
    with zipfile.ZipFile(path("prefix"), "w") as archive:
        for entry in "top/", "top/v/", "top/w/":
            archive.writestr(info(entry, zipfile.ZIP_STORED, 0o40750), b"")
        fill(archive, "top/")
    for name, big in ("streamed", False), ("streamed64", True):
        stream = Stream(path(name))
        with zipfile.ZipFile(stream, "w") as archive:
            fill(archive, big=big)
        stream.file.close()
    with zipfile.ZipFile(path("twice"), "w") as archive:
        for name in MEMBERS:
            archive._didModify = True
            archive.NameToInfo.pop(name, None)
            archive.writestr(info(name, zipfile.ZIP_STORED), b"an older one")
        archive.NameToInfo.clear()
        fill(archive)
    with zipfile.ZipFile(path("odd"), "w") as archive:
        fill(archive)
        for name in "__MACOSX/v/._0", "/absolute", "../up", "v/é", "empty/":
            archive.writestr(info(name, zipfile.ZIP_DEFLATED), b"" if name.endswith("/") else name.encode())
    with open(path("stub"), "wb") as file:
        with zipfile.ZipFile(file, "w") as archive:
            fill(archive)
    with open(path("stub"), "rb") as file:
        data = file.read()
    with open(path("stub"), "wb") as file:
        file.write(STUB + data)


def raw(path, entry):
    """The bytes of a member as they lie there."""
    with open(path, "rb") as file:
        file.seek(entry.header_offset)
        head = file.read(30)
        assert head[:4] == b"PK\3\4", "no header of %r" % entry.filename
        file.seek(entry.header_offset + 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"))
        return file.read(entry.compress_size)


def check(folder, name):
    now, before = (os.path.join(folder, name + end) for end in (".zip", ".zip.orig"))
    with zipfile.ZipFile(now) as a, zipfile.ZipFile(before) as b:
        prefix = "top/" if name == "prefix" else ""
        want = {entry.filename: b.read(entry) for entry in b.infolist() if b.getinfo(entry.filename) is entry}
        for key in DELETED:
            del want[prefix + key]
        want.pop(prefix + "w/", None)  # nothing is left below it
        want.update((prefix + key, data) for key, data in WRITTEN.items())
        assert a.testzip() is None
        assert len(a.namelist()) == len(set(a.namelist())), "a name is there twice"
        assert set(a.namelist()) == set(want), sorted(set(a.namelist()) ^ set(want))
        for entry in a.infolist():
            assert a.read(entry) == want[entry.filename], entry.filename
            if entry.filename[len(prefix):] in WRITTEN:
                continue
            old = b.getinfo(entry.filename)
            for field in "date_time", "compress_type", "external_attr", "create_system", "flag_bits", "CRC", "file_size", "compress_size":
                assert getattr(entry, field) == getattr(old, field), (entry.filename, field)
            assert raw(now, entry) == raw(before, old), entry.filename
        assert a.comment == b.comment
    if name == "stub":
        with open(now, "rb") as file:
            assert file.read(len(STUB)) == STUB


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(*sys.argv[2:])
