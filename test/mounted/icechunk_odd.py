#!/usr/bin/env python3
"""icechunk_odd.py DIR SPEC: Icechunk repositories that the format allows and few writers make.

DIR/root: the root is an array, [k, k+1] at commit k, and the array b lies below it, the array b/d and the group b/g with an array below b. Tag "v1" is commit 1 of 2; at tag "v0" the root
is a group that has the array x. DIR/scalar-WRITER: the scalar a, whose one reference has an index of one 0, in a manifest of that writer.
DIR/line: a is [k, k] at commit k of 4; branch main is at 2, branch dev at 4, tag "v3" at 3.
DIR/twice: the library copies what an array has of the time before it had other dimensions from each manifest that may have some: a has references twice that say the same, b two that do not."""
import os
import struct
import sys

from icechunk_files import Blob, Repo, Structs, Table, doc, ident, text_of, values, write, write_file


class Odd(Repo):
    def __init__(self, top, spec, writer="zarrfs's test"):
        super().__init__(top, spec, "", 0, "", "")
        self.writer, self.snapshots = writer, []

    def one(self, k, nodes):
        """Commit k of nodes: path → (shape, values of the one chunk), or None for a group; or (shape, None, references by index, each as values)"""
        out, files = [], []
        for n, (path, what) in enumerate(sorted(nodes.items())):
            node = ident("n%03d" % n, 1, 8)
            if what is None:
                out.append(Table({0: node, 1: Blob(path.encode()), 2: Blob(b'{"zarr_format":3,"node_type":"group"}'), 3: ("u8", 2), 4: Table()}))
                continue
            shape, chunk, *more = what
            i = ident("m%03d" % n, k)
            name = "%s/manifests/%s" % (self.top, text_of(i))
            refs = more[0] if more else [((0,), chunk)]
            refs = [Table({0: Structs(struct.pack("<I", x) for x in index), 1: Blob(values(*chunk))}) for index, chunk in refs]
            write_file(name, 2, self.spec, Table({0: i, 1: [Table({0: node, 1: refs})]}), self.writer)
            files.append((i, os.path.getsize(name)))
            data = {2: [Table({0: i, 1: Structs([struct.pack("<II", 0, 1)])})]}
            if self.spec == 1:
                data[0] = Structs(struct.pack("<QQ", n, n) for n in shape)
            else:
                data[0] = Structs()
                data[3] = [Table({0: ("u64", n), 1: ("u32", 1)}) for n in shape]
            out.append(Table({0: node, 1: Blob(path.encode()), 2: doc(shape, shape, dims=None), 3: ("u8", 1), 4: Table(data)}))
        root = {0: self.snapshot_id(k), 2: out, 3: ("u64", self.time(k)), 4: Blob(b"commit %d" % k), 5: [], 6: Structs()}
        if self.spec == 1:
            root[6] = Structs(i + bytes(4) + struct.pack("<QII", size, 1, 0) for i, size in files)
            if k > 1:
                root[1] = self.snapshot_id(k - 1)
        else:
            root[7] = [Table({0: i, 1: ("u64", size), 2: ("u32", 1)}) for i, size in files]
        write_file("%s/snapshots/%s" % (self.top, text_of(self.snapshot_id(k))), 1, self.spec, Table(root), self.writer)
        self.snapshots.append(k)

    def name(self, branches, tags):
        if self.spec == 1:
            for kind, names in (("branch", branches), ("tag", tags)):
                for name, k in names.items():
                    write("%s/refs/%s.%s/ref.json" % (self.top, kind, name), b'{"snapshot":"%s"}' % text_of(self.snapshot_id(k)).encode())
            return
        infos = [Table({0: self.snapshot_id(k), 1: ("i32", i - 1), 2: ("u64", self.time(k)), 3: Blob(b"commit %d" % k)}) for i, k in enumerate(self.snapshots)]
        refs = [[Table({0: Blob(name.encode()), 1: ("u32", self.snapshots.index(k))}) for name, k in sorted(names.items())] for names in (tags, branches)]
        write_file(self.top + "/repo", 6, 2, Table({0: ("u8", 2), 1: refs[0], 2: refs[1], 3: [], 4: infos, 5: Table({0: ("u8", 0), 1: ("u64", 0)}), 7: []}))


def main():
    top, spec = sys.argv[1], int(sys.argv[2])
    r = Odd(top + "/root", spec)
    r.one(1, {"/": None, "/x": ([2], (8, 9))})
    for k in (2, 3):
        r.one(k, {"/": ([2], (k, k + 1)), "/b": ([2], (5, 6)), "/b/d": ([2], (7, 8)), "/b/g": None, "/b/g/e": ([1], (1,))})
    r.name({"main": 3}, {"v0": 1, "v1": 2})
    r = Odd(top + "/twice", spec, "ic-2.2.2")
    old = [((), (1, 1)), ((), (1, 1)), ((0,), (5, 6)), ((0,), (5, 6)), ((0, 0), (2, 2)), ((0, 0), (2, 2))]
    r.one(1, {"/": None, "/a": ([2], None, old), "/b": ([2], None, [*old[:3], ((0,), (5, 7)), *old[4:]])})
    r.name({"main": 1}, {})
    r = Odd(top + "/line", spec)
    for k in range(1, 5):
        r.one(k, {"/": None, "/a": ([2], (k, k))})
    r.name({"main": 2, "dev": 4}, {"v3": 3})
    for writer in ("ic-0.2.12", "ic-1.0.0", "ic-2.2.2", "another"):
        r = Odd("%s/scalar-%s" % (top, writer), spec, writer)
        r.one(1, {"/": None, "/a": ([], (42,))})
        r.name({"main": 1}, {})


if __name__ == "__main__":
    main()
