"""Seeds that no compiler here makes: containers, a cubin, bundles of clang, a SPIR-V module.

The forms are those of src/base/gpu/fixture.rs, written a second time from the description of the formats.
"""
import pathlib
import struct
import sys
import zlib

out = pathlib.Path(sys.argv[1])
PTX = b".version 8.7\n.target sm_75\n.address_size 64\n.entry k(.param .u64 a) { ret; }\n"


def write(target, name, content):
    place = out / target
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_bytes(content)


def entry(kind, arch, flags, content, compressed=0, unpacked=None):
    content += bytes(-len(content) % 8)
    head = struct.pack("<HHIQIIHHIII", kind, 0x101, 64, len(content), compressed, 0, 8, 1, arch, 0, 0)
    return head + struct.pack("<QQQ", flags, 0, unpacked or len(content)) + content


def container(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def lz4(content):
    """One run of literals: a block that any reader of LZ4 takes."""
    length = len(content)
    head = bytes([min(length, 15) << 4])
    length -= 15
    while length >= 0:
        head += bytes([min(length, 255)])
        length -= 255
    return head + content


packed = lz4(PTX)
write("fatbin", "raw", container(entry(1, 75, 0x11, PTX), entry(0x40, 90, 0x100011, b"future")))
write("fatbin", "packed", container(entry(1, 75, 0x2011, packed, len(packed), len(PTX))))

symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0x10, 4, 0, 8)
param = struct.pack("<BBHIHHI", 4, 0x17, 12, 0, 0, 0, 8 << 18)
sections = [(0, b""), (3, b"\0"), (3, b"\0k\0"), (2, symbols), (1, bytes(8)), (0x70000000, param)]
names = ["", ".shstrtab", ".strtab", ".symtab", ".text.k", ".nv.info.k"]
table = b"\0" + b"".join(name.encode() + b"\0" for name in names[1:])
sections[1] = (3, table)
body, headers = b"", b""
for (kind, content), name in zip(sections, names):
    at = table.find(name.encode() + b"\0") if name else 0
    headers += struct.pack("<IIQQQQIIQQ", at, kind, 0, 0, 64 + len(body), len(content), 2, 0, 1, 24)
    body += content
ident = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
header = ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(body), 0x06005A04, 64, 0, 0, 64, len(names), 1)
write("cubin", "small", header + body + headers)

ids = [b"host-x86_64-unknown-linux-gnu-", b"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"]
size = 32 + sum(24 + len(name) for name in ids)
bundle = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids))
for index, name in enumerate(ids):
    bundle += struct.pack("<QQQ", size, 16 * index, len(name)) + name
bundle += b"code" * 4
write("offload", "plain", bundle)
write("archive", "bundle", bundle)
small = zlib.compress(bundle)
write("offload", "packed", struct.pack("<4sHHIIQ", b"CCOB", 2, 0, 24 + len(small), len(bundle), 0) + small)


def op(code, *operands):
    return struct.pack("<I", (len(operands) + 1) << 16 | code) + b"".join(struct.pack("<I", word) for word in operands)


main = struct.unpack("<2I", b"main\0\0\0\0")
words = [
    op(17, 1), op(14, 0, 1), op(15, 5, 4, *main), op(16, 4, 17, 8, 1, 1), op(5, 20, *main),
    op(71, 10, 2), op(72, 10, 0, 35, 0), op(72, 10, 1, 35, 16), op(71, 9, 6, 16), op(71, 20, 34, 0), op(71, 20, 33, 1),
    op(22, 2, 32), op(23, 3, 2, 4), op(24, 5, 3, 4), op(21, 6, 32, 0), op(43, 6, 7, 2), op(28, 9, 3, 7),
    op(30, 10, 2, 9), op(32, 13, 2, 10), op(59, 13, 20, 2), op(50, 6, 30, 64), op(52, 6, 31, 132, 30, 7),
    op(28, 33, 2, 31), op(32, 34, 4, 33), op(59, 34, 35, 4),
]
module = struct.pack("<5I", 0x07230203, 0x00010300, 8 << 16, 100, 0) + b"".join(words)
write("spirv", "small", module)
write("archive", "module", module)
