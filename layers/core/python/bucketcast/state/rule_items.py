"""Pack all rules of a bucket into a few items, written in one transaction.

An item per rule would be 10,000 writes to one DynamoDB partition, which takes 1,000 a second, and
no transaction holds more than 100 items. Compressed, 10,000 rules are one item of some 200 KB.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from bucketcast.delivery.compression import compress, decompress
from bucketcast.errors import BucketcastError
from bucketcast.limits import MOST_BUCKET_RULES_TEXT_BYTES
from bucketcast.rules import Rule

PREFIX: Final = "page#"
_MAX_ITEM: Final = 380_000
"""Bytes: DynamoDB allows 400 KB with names and the rest of the item."""
_MAX_ITEMS: Final = 9
"""A transaction holds 4 MB."""
_decode: Final = msgspec.json.Decoder(list[Rule]).decode


def pack(rules: Sequence[Rule]) -> list[bytes]:
    """Return the rules as the bytes of items, in order; none for no rule.

    Raises:
        BucketcastError: they do not fit into one transaction.
    """
    encoded = [msgspec.json.encode(rule) for rule in rules]
    size = sum(len(rule) + len("[]") for rule in encoded)
    if size > MOST_BUCKET_RULES_TEXT_BYTES:
        raise BucketcastError(
            f"the {len(rules):,} rules of the bucket take {size:,} bytes; allowed are "
            f"{MOST_BUCKET_RULES_TEXT_BYTES:,}"
        )
    parts = list(_parts(encoded))
    if len(parts) > _MAX_ITEMS:
        raise BucketcastError(
            f"the {len(rules):,} rules of the bucket take {sum(map(len, parts)):,} bytes; allowed "
            f"are {_MAX_ITEM * _MAX_ITEMS:,}"
        )
    return parts


def unpack(parts: Iterable[bytes]) -> list[Rule]:
    """Return the rules in the bytes of items, in their order.

    Raises:
        ValueError: together they are larger than `pack` allows.
    """
    rules: list[Rule] = []
    room = MOST_BUCKET_RULES_TEXT_BYTES
    for part in parts:
        unpacked = decompress(part, room)
        room -= len(unpacked)
        rules += _decode(unpacked)
    return rules


def name(number: int) -> str:
    """Return the sort key of an item; the keys sort as the numbers do."""
    return f"{PREFIX}{number:03}"


def _parts(encoded: Sequence[bytes]) -> Iterable[bytes]:
    if not encoded:
        return
    part = compress(b"[%b]" % b",".join(encoded))
    if len(part) <= _MAX_ITEM:
        yield part
        return
    if len(encoded) == 1:
        raise BucketcastError(f"a rule takes {len(part):,} bytes; allowed are {_MAX_ITEM:,}")
    half = len(encoded) // 2
    yield from _parts(encoded[:half])
    yield from _parts(encoded[half:])
