# SPDX-License-Identifier: GPL-2.0-only
"""Writes one recording in other forms: pipe stream, compressed, directory.

Only for plain little-endian perf.data files whose events all have one sample layout; that is what the
tests convert. The records themselves stay as they are, so every form must give the same report.
"""
import ctypes
import ctypes.util
import struct
from pathlib import Path

HEADER_ATTR, HEADER_TRACING_DATA, HEADER_BUILD_ID = 64, 66, 67
FINISHED_ROUND, HEADER_FEATURE, COMPRESSED, COMPRESSED2 = 68, 80, 81, 83
TRACING_DATA, BUILD_ID, DIR_FORMAT, COMPRESSED_FEATURE = 1, 2, 24, 27
SAMPLE = 9
# The u64 words in front of CPU in a sample, and behind it in the trailer of other records.
BEFORE_CPU = (1 << 16, 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 6, 1 << 9)
CPU, IDENTIFIER = 1 << 7, 1 << 16


class PerfFile:
    """A plain file taken apart: attrs as (bytes, ids), data, features by bit."""

    def __init__(self, path):
        whole = Path(path).read_bytes()
        magic, size, attr_size, attrs_at, attrs_size, data_at, data_size = struct.unpack_from("<8s6Q", whole)
        assert magic == b"PERFILE2" and size == 104 and data_size, f"{path}: not a plain file"
        self.entry_size = attr_size
        self.attrs = []
        for at in range(attrs_at, attrs_at + attrs_size, attr_size):
            ids_at, ids_size = struct.unpack_from("<2Q", whole, at + attr_size - 16)
            ids = struct.unpack_from(f"<{ids_size // 8}Q", whole, ids_at)
            self.attrs.append((whole[at:at + attr_size - 16], ids))
        self.data = whole[data_at:data_at + data_size]
        bits = struct.unpack_from("<4Q", whole, 72)
        table_at, self.features = data_at + data_size, {}
        for bit in range(256):
            if bits[bit // 64] >> bit % 64 & 1:
                at, length = struct.unpack_from("<2Q", whole, table_at)
                table_at += 16
                if length:
                    self.features[bit] = whole[at:at + length]

    def records(self):
        """(type, whole record) in file order."""
        at = 0
        while at + 8 <= len(self.data):
            kind, _, size = struct.unpack_from("<IHH", self.data, at)
            yield kind, self.data[at:at + size]
            at += size

    def cpu_of(self, kind, record):
        """The CPU whose ring held this record; None for records of perf itself."""
        sample_type = struct.unpack_from("<Q", self.attrs[0][0], 24)[0]
        if kind >= 64 or not sample_type & CPU:
            return None
        if kind == SAMPLE:
            at = 8 + 8 * sum(1 for bit in BEFORE_CPU if sample_type & bit)
        else:
            at = len(record) - 8 - (8 if sample_type & IDENTIFIER else 0)
        return struct.unpack_from("<I", record, at)[0]

    # ---- the forms

    def write_file(self, path, data, features):
        ids = b"".join(struct.pack(f"<{len(ids)}Q", *ids) for _, ids in self.attrs)
        entries, ids_at = b"", 104
        for attr, own in self.attrs:
            entries += attr + struct.pack("<2Q", ids_at, 8 * len(own))
            ids_at += 8 * len(own)
        data_at = 104 + len(ids) + len(entries)
        bits = [0] * 4
        for bit in features:
            bits[bit // 64] |= 1 << bit % 64
        at = data_at + len(data) + 16 * len(features)
        table = b""
        for bit in sorted(features):
            table += struct.pack("<2Q", at, len(features[bit]))
            at += len(features[bit])
        header = struct.pack("<8s8Q4Q", b"PERFILE2", 104, self.entry_size, 104 + len(ids), len(entries),
                             data_at, len(data), 0, 0, *bits)
        Path(path).write_bytes(header + ids + entries + data + table +
                               b"".join(features[bit] for bit in sorted(features)))

    def write_pipe(self, path):
        """What perf writes to a pipe: no sections, everything is a record."""
        out = struct.pack("<8sQ", b"PERFILE2", 16)
        for attr, ids in self.attrs:
            body = attr + struct.pack(f"<{len(ids)}Q", *ids)
            out += struct.pack("<IHH", HEADER_ATTR, 0, 8 + len(body)) + body
        for bit, content in sorted(self.features.items()):
            padded = content + bytes(-len(content) % 8)
            if bit not in (TRACING_DATA, BUILD_ID) and len(padded) + 16 < 1 << 16:
                out += struct.pack("<IHHQ", HEADER_FEATURE, 0, 16 + len(padded), bit) + padded
        tracing = self.features[TRACING_DATA] + bytes(-len(self.features[TRACING_DATA]) % 8)
        out += struct.pack("<IHHII", HEADER_TRACING_DATA, 0, 16, len(tracing), 0) + tracing
        out += self.data
        ids, at = self.features.get(BUILD_ID, b""), 0
        while at + 8 <= len(ids):
            _, misc, size = struct.unpack_from("<IHH", ids, at)
            out += struct.pack("<IHH", HEADER_BUILD_ID, misc, size) + ids[at + 8:at + size]
            at += size
        Path(path).write_bytes(out)

    def write_compressed(self, path, chunk_bytes, newer):
        """zstd in COMPRESSED (81) or COMPRESSED2 (83) records of at most chunk_bytes, cut anywhere."""
        stream, out, pending = ZstdStream(), b"", b""

        def flushed(plain):
            packed, result = stream.flush(plain), b""
            for at in range(0, len(packed), chunk_bytes):
                chunk = packed[at:at + chunk_bytes]
                if newer:
                    padding = -len(chunk) % 8
                    result += struct.pack("<IHHQ", COMPRESSED2, 0, 16 + len(chunk) + padding, len(chunk))
                    result += chunk + b"\xaa" * padding
                else:
                    result += struct.pack("<IHH", COMPRESSED, 0, 8 + len(chunk)) + chunk
            return result

        for kind, record in self.records():
            # perf leaves its own records plain; they keep their place.
            if kind >= 64:
                out += flushed(pending) + record
                pending = b""
            else:
                pending += record
        out += flushed(pending)
        features = dict(self.features)
        features[COMPRESSED_FEATURE] = struct.pack("<5I", 1, 1, 1, 5, 528384)
        self.write_file(path, out, features)

    def write_directory(self, path):
        """What `perf record --threads` leaves: a file a CPU without rounds, and the rest in `data`."""
        main, rings = b"", {}
        for kind, record in self.records():
            if kind == FINISHED_ROUND:
                continue
            cpu = self.cpu_of(kind, record)
            # Synthesized records, and those without a time, are written by the main thread.
            if cpu is None or kind in (1, 3, 7, 10) and self.time_of(record) == 0:
                main += record
            else:
                rings.setdefault(cpu, []).append(record)
        Path(path).mkdir()
        features = {**self.features, DIR_FORMAT: struct.pack("<Q", 1)}
        self.write_file(Path(path) / "data", main, features)
        for number, cpu in enumerate(sorted(rings)):
            (Path(path) / f"data.{number}").write_bytes(b"".join(rings[cpu]))

    def time_of(self, record):
        """The time in the trailer of a record that is no sample."""
        sample_type = struct.unpack_from("<Q", self.attrs[0][0], 24)[0]
        behind = sum(8 for bit in (1 << 6, 1 << 9, CPU, IDENTIFIER) if sample_type & bit)
        return struct.unpack_from("<Q", record, len(record) - behind - 8)[0]


class ZstdStream:
    """One zstd stream over all that is flushed, never ended, as perf keeps it."""

    class Buffer(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t)]

    FLUSH = 1

    def __init__(self):
        self.zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        self.zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
        self.zstd.ZSTD_compressStream2.restype = ctypes.c_size_t
        self.zstd.ZSTD_compressStream2.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int]
        self.context = self.zstd.ZSTD_createCCtx()

    def flush(self, plain):
        if not plain:
            return b""
        source = ctypes.create_string_buffer(plain, len(plain))
        target = ctypes.create_string_buffer(len(plain) + (1 << 17))
        given = self.Buffer(ctypes.addressof(source), len(plain), 0)
        taken = self.Buffer(ctypes.addressof(target), len(target), 0)
        left = self.zstd.ZSTD_compressStream2(self.context, ctypes.byref(taken), ctypes.byref(given), self.FLUSH)
        assert left == 0, f"zstd: {left}"
        return target.raw[:taken.at]
