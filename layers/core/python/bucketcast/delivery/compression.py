"""Zstandard, with a limit to what is opened."""

import sys

from bucketcast.limits import UNPACKED_BYTES

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_WINDOW = {int(zstd.DecompressionParameter.window_log_max): UNPACKED_BYTES.bit_length() - 1}
"""The input chooses the decompressor's window, so it is capped."""


def compress(text: bytes, level: int = 3) -> bytes:
    """Return the text compressed; level 1 is the quickest."""
    return zstd.compress(text, level)


def decompress(packed: bytes, limit: int = UNPACKED_BYTES) -> bytes:
    """Return the decompressed text.

    Raises:
        ValueError: it is more than `limit`, broken, or cut short.
    """
    unpacker = zstd.ZstdDecompressor(options=_WINDOW)
    try:
        unpacked = unpacker.decompress(packed, limit + 1)
    except zstd.ZstdError as error:
        raise ValueError(f"the compressed text is broken: {error}") from None
    if len(unpacked) > limit:
        raise ValueError(f"it unpacks to more than {limit:,} bytes, which is not opened")
    if not unpacker.eof:
        raise ValueError("the compressed text is cut short")
    return unpacked
