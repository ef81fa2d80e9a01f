#!/usr/bin/env python3
"""icechunk_files.py DIR SPEC COMMITS [SOURCE [MORE [URL [ETAG]]]]: a small Icechunk repository, written by hand: FlatBuffers forwards, nothing compressed.

Arrays a (inline), n (native, one chunk of two never written), big (native, packed), and with SOURCE v (virtual: its bytes 8 to 24, by the name URL; as it was changed last, or if ETAG is said, with that). MORE arrays many/aI (inline, one value I). Commit k
has a = [k, k+1, k+2, k+3]; n and big never change. Tag "v1" is commit 1, tag "gone" is deleted, branch "dev" is commit 1."""
import json
import os
import struct
import sys

MAGIC = b"ICE\xf0\x9f\xa7\x8aCHUNK"
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def text_of(i):
    n = int.from_bytes(i, "big") << 4
    return "".join(ALPHABET[n >> 5 * k & 31] for k in range(19, -1, -1))


def ident(kind, k, size=12):
    return (kind.encode() + bytes([k])).ljust(size, b"\x07")


class Table(dict):
    """slot -> ("u8" "u32" "i32" "u64", number), bytes of a struct, or what is referred to: Table, list, Blob"""


class Blob(bytes):
    pass


class Structs(list):
    """count and bytes of structs or scalars"""


SIZES = {"u8": ("<B", 1), "u16": ("<H", 2), "u32": ("<I", 4), "i32": ("<i", 4), "u64": ("<Q", 8)}


class Writer:
    def __init__(self):
        self.out = bytearray(8)

    def align(self, n):
        self.out += bytes(-len(self.out) % n)

    def table(self, t):
        slots = max(t) + 1 if t else 0
        body, entries, refs = bytearray(4), [0] * slots, []
        for slot, v in sorted(t.items()):
            if isinstance(v, tuple):
                form, size = SIZES[v[0]]
                body += bytes(-len(body) % size)
                entries[slot] = len(body)
                body += struct.pack(form, v[1])
            elif type(v) is bytes:
                entries[slot] = len(body)
                body += v
            else:
                body += bytes(-len(body) % 4)
                entries[slot] = len(body)
                refs.append((len(body), v))
                body += bytes(4)
        self.align(8)
        vtable = len(self.out)
        self.out += struct.pack("<HH", 4 + 2 * slots, len(body)) + b"".join(struct.pack("<H", e) for e in entries)
        self.align(8)
        at = len(self.out)
        body[:4] = struct.pack("<i", at - vtable)
        self.out += body
        for off, v in refs:
            self.refer(at + off, v)
        return at

    def refer(self, at, v):
        to = self.put(v)
        self.out[at:at + 4] = struct.pack("<I", to - at)

    def put(self, v):
        if isinstance(v, Table):
            return self.table(v)
        self.align(8)
        self.out += bytes(4)  # so that what follows the count is aligned
        at = len(self.out)
        if isinstance(v, Blob):
            self.out += struct.pack("<I", len(v)) + v + b"\0"
        elif isinstance(v, Structs):
            self.out += struct.pack("<I", len(v)) + b"".join(v)
        else:
            self.out += struct.pack("<I", len(v)) + bytes(4 * len(v))
            for i, e in enumerate(v):
                self.refer(at + 4 + 4 * i, e)
        return at


def payload(root):
    w = Writer()
    at = w.table(root)
    w.out[:8] = struct.pack("<I", at) + b"Ichk"
    return bytes(w.out)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + "~", "wb") as f:
        f.write(data)
    os.rename(path + "~", path)


def write_file(path, kind, spec, root, writer="zarrfs's test"):
    write(path, MAGIC + writer.encode().ljust(24) + bytes([spec, kind, 0]) + payload(root))


def doc(shape, chunk, fill=-1, dims=("x",)):
    return Blob(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int32", "fill_value": fill,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "attributes": {}, **({"dimension_names": dims} if dims else {}),
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}).encode())


def values(*v):
    return struct.pack("<%di" % len(v), *v)


class Repo:
    def __init__(self, top, spec, source, more, url, etag):
        self.top, self.spec, self.source, self.more, self.url, self.etag = top, spec, source, more, url, etag

    def snapshot_id(self, k):
        return ident("snap", k)

    def manifest(self, k, nodes):
        i = ident("mani", k)
        refs = [Table({0: node, 1: [Table(r) for r in refs]}) for node, refs in sorted(nodes.items())]
        path = "%s/manifests/%s" % (self.top, text_of(i))
        write_file(path, 2, self.spec, Table({0: i, 1: refs}))
        return i, os.path.getsize(path)

    def index(self, *i):
        return Structs(struct.pack("<I", n) for n in i)

    def commit(self, k):
        a, n, big, v, was = (ident(x, 1, 8) for x in ("a", "n", "big", "v", "was"))
        changing = self.manifest(k, {a: [{0: self.index(0), 1: Blob(values(k, k + 1))}, {0: self.index(1), 1: Blob(values(k + 2, k + 3))}]})
        native, packed = ident("chun", 1), ident("chun", 2)
        write("%s/chunks/%s" % (self.top, text_of(native)), values(7, 8))
        write("%s/chunks/%s" % (self.top, text_of(packed)), values(*range(1000, 1300)))
        refs = {n: [{0: self.index(1), 3: ("u64", 8), 4: native}],
                big: [{0: self.index(i), 2: ("u64", 400 * i), 3: ("u64", 400), 4: packed} for i in range(3)],
                was: [{0: self.index(1), 1: Blob(values(9, 10))}]}
        if self.source:
            check = {6: Blob(self.etag.encode())} if self.etag else {7: ("u32", int(os.path.getmtime(self.source)))}
            refs[v] = [{0: self.index(0), 2: ("u64", 8), 3: ("u64", 16), 5: Blob(self.url.encode()), **check}]
        fixed = self.manifest(200, refs)
        # what an array has from the time when it had two dimensions
        old = self.manifest(202, {was: [{0: self.index(i, 0), 1: Blob(values(5, 6))} for i in range(2)]})
        nodes = {"/a": (a, [4], [2], changing), "/n": (n, [4], [2], fixed), "/g/big": (big, [300], [100], fixed), "/g/was": (was, [4], [2], fixed)}
        each = [ident("m%03d" % i, 1, 8) for i in range(self.more)]
        many = self.manifest(201, {e: [{0: self.index(0), 1: Blob(values(i))}] for i, e in enumerate(each)}) if each else None
        for i, e in enumerate(each):
            nodes["/many/a%03d" % i] = (e, [1], [1], many)
        if self.source:
            nodes["/v"] = (v, [4], [4], fixed)
        out = [Table({0: ident("root", 1, 8), 1: Blob(b"/"), 2: Blob(b'{"zarr_format":3,"node_type":"group"}'), 3: ("u8", 2), 4: Table()})]
        for path, (node, shape, chunk, manifest) in sorted(nodes.items()):
            count = -(-shape[0] // chunk[0])
            extent = Structs([struct.pack("<II", 0, count)])
            data = {2: [Table({0: manifest[0], 1: extent})]}
            if node == was:
                data[2].insert(0, Table({0: old[0], 1: Structs([struct.pack("<II", 0, 2), struct.pack("<II", 0, 1)])}))
            if self.spec == 1:
                data[0] = Structs([struct.pack("<QQ", shape[0], chunk[0])])
            else:
                data[0] = Structs()
                data[3] = [Table({0: ("u64", shape[0]), 1: ("u32", count)})]
            out.append(Table({0: node, 1: Blob(path.encode()), 2: doc(shape, chunk), 3: ("u8", 1), 4: Table(data)}))
        root = {0: self.snapshot_id(k), 2: out, 3: ("u64", self.time(k)), 4: Blob(b"commit %d" % k), 5: []}
        both = [changing, fixed, old] + ([many] if many else [])
        if self.spec == 1:
            if k > 1:
                root[1] = self.snapshot_id(k - 1)
            root[6] = Structs(i + bytes(4) + struct.pack("<QII", size, 1, 0) for i, size in both)
        else:
            root[6] = Structs()
            root[7] = [Table({0: i, 1: ("u64", size), 2: ("u32", 1)}) for i, size in both]
        write_file("%s/snapshots/%s" % (self.top, text_of(self.snapshot_id(k))), 1, self.spec, Table(root))

    def time(self, k):
        return 1767225600000000 + k * 86400000000 + (k - 1) * 250000  # commit k: January 1 + k, 2026, and quarters of a second

    def refs(self, commits):
        if self.spec == 1:
            for name, k in (("branch.main", commits), ("branch.dev", 1), ("tag.v1", 1), ("tag.gone", 1)):
                write("%s/refs/%s/ref.json" % (self.top, name), json.dumps({"snapshot": text_of(self.snapshot_id(k))}).encode())
            write("%s/refs/tag.gone/ref.json.deleted" % self.top, b"")
            return
        infos = [Table({0: self.snapshot_id(k), 1: ("i32", k - 2), 2: ("u64", self.time(k)), 3: Blob(b"commit %d" % k)}) for k in range(1, commits + 1)]
        write_file(self.top + "/repo", 6, 2, Table({
            0: ("u8", 2), 1: [Table({0: Blob(b"v1"), 1: ("u32", 0)})],
            2: [Table({0: Blob(b"dev"), 1: ("u32", 0)}), Table({0: Blob(b"main"), 1: ("u32", commits - 1)})],
            3: [Blob(b"gone")], 4: infos, 5: Table({0: ("u8", 0), 1: ("u64", 0)}), 7: []}))


def main():
    top, spec, commits = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    source, more, url, etag = (sys.argv[4:] + [""] * 4)[:4]
    r = Repo(top, spec, source, int(more or 0), url or "file://" + source, etag)
    for k in range(1, commits + 1):
        r.commit(k)
    r.refs(commits)


if __name__ == "__main__":
    main()
