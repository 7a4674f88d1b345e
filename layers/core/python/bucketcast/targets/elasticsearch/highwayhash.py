"""HighwayHash-256 in plain Python, by which MinIO makes ids of keys that are too long.

It takes about 50 µs a block of 32 bytes, but few keys need it. Source: the algorithm's published
description and test vectors (github.com/google/highwayhash).
"""

import struct

_LANES = struct.Struct("<4Q")
_BLOCK = _LANES.size
_LOW, _ALL, _128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
_MUL0 = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
_MUL1 = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)
_ZIP_ORDER = (3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7)
"""The index in a pair of lanes of each byte of the zipped pair."""
_HALF = 16


class _State:
    def __init__(self, key: bytes) -> None:
        lanes = _LANES.unpack(key)
        self.mul0, self.mul1 = list(_MUL0), list(_MUL1)
        self.v0 = [mul ^ lane for mul, lane in zip(_MUL0, lanes, strict=True)]
        self.v1 = [mul ^ _swap(lane) for mul, lane in zip(_MUL1, lanes, strict=True)]

    def update(self, lanes: tuple[int, ...]) -> None:
        """Mix in one block."""
        v0, v1, mul0, mul1 = self.v0, self.v1, self.mul0, self.mul1
        for i, lane in enumerate(lanes):
            v1[i] = (v1[i] + mul0[i] + lane) & _ALL
            mul0[i] ^= (v1[i] & _LOW) * (v0[i] >> 32)
            v0[i] = (v0[i] + mul1[i]) & _ALL
            mul1[i] ^= (v0[i] & _LOW) * (v1[i] >> 32)
        _add_zipped(v0, v1)
        _add_zipped(v1, v0)

    def update_rest(self, rest: bytes) -> None:
        """Mix in an incomplete block."""
        size, whole = len(rest), len(rest) & ~3
        self.v0 = [(lane + (size << 32) + size) & _ALL for lane in self.v0]
        self.v1 = [_rotate(lane, size) for lane in self.v1]
        block = bytearray(rest[:whole].ljust(_BLOCK, b"\0"))
        tail = rest[whole:]
        if size >= _HALF:
            block[28:] = rest[-4:]
        elif tail:
            block[16:19] = (tail[0], tail[len(tail) >> 1], tail[-1])
        self.update(_LANES.unpack(block))

    def digest(self) -> bytes:
        for _ in range(10):
            self.update(tuple(_swap(self.v0[i]) for i in (2, 3, 0, 1)))
        return b"".join(
            _reduce(
                (self.v0[i] + self.mul0[i]) & _ALL
                | ((self.v0[i + 1] + self.mul0[i + 1]) & _ALL) << 64,
                (self.v1[i] + self.mul1[i]) & _ALL
                | ((self.v1[i + 1] + self.mul1[i + 1]) & _ALL) << 64,
            ).to_bytes(16, "little")
            for i in (0, 2)
        )


def highwayhash256(data: bytes, key: bytes) -> bytes:
    """Return the hash of `data`, 32 bytes, with a key of 32 bytes."""
    state = _State(key)
    whole = len(data) - len(data) % _BLOCK
    for lanes in _LANES.iter_unpack(data[:whole]):
        state.update(lanes)
    if whole < len(data):
        state.update_rest(data[whole:])
    return state.digest()


def _swap(lane: int) -> int:
    """Swap the halves of a lane."""
    return lane >> 32 | (lane & _LOW) << 32


def _rotate(lane: int, bits: int) -> int:
    """Rotate both halves of a lane to the left."""
    high, low = ((half << bits | half >> (32 - bits)) & _LOW for half in (lane >> 32, lane & _LOW))
    return high << 32 | low


def _add_zipped(target: list[int], source: list[int]) -> None:
    for i in (0, 2):
        pair = struct.pack("<2Q", source[i], source[i + 1])
        low, high = struct.unpack("<2Q", bytes(pair[index] for index in _ZIP_ORDER))
        target[i], target[i + 1] = (target[i] + low) & _ALL, (target[i + 1] + high) & _ALL


def _reduce(low: int, high: int) -> int:
    """Reduce 256 bits modulo a polynomial to 128."""
    high &= _128 >> 2
    return low ^ (high << 1 & _128) ^ (high << 2 & _128)
