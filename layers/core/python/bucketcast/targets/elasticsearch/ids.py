"""The id of an object's document: `bucket/key`, or a hash of it where that is too long for one."""

import hashlib
from base64 import urlsafe_b64encode

from bucketcast.targets.elasticsearch.highwayhash import highwayhash256

LONGEST = 512
"""Bytes of an id, in every version of both products."""
HASHED = 44
"""Characters of a hashed id."""
_KEY = bytes.fromhex("4be734fa8e238acd263e83e6bb968552040f935da39f441497e09d1322de36a0")
"""MinIO's, in the open; its newer releases hash every id with it."""


def document_id(path: str, *, always_hashed: bool = False) -> str:
    """Return the id for `bucket/key`.

    Raises:
        UnicodeEncodeError: the key is no Unicode text.
    """
    plain = path.encode()
    if always_hashed or len(plain) > LONGEST:
        return urlsafe_b64encode(highwayhash256(plain, _KEY)).decode()
    return path


def version_id(path: str, version: str) -> str:
    """Return the id of a version's guard document; no other begins with a blank."""
    about = f"{path}\0{version}".encode()
    return " " + hashlib.blake2b(about, digest_size=32).hexdigest()


def is_plain(id_: str) -> bool:
    """Return whether it is a `bucket/key`: a hash or an id that the server made has no slash."""
    return "/" in id_


def is_hashed(id_: str) -> bool:
    """Return whether it looks like a hash of `bucket/key`; the server's own ids are shorter."""
    return len(id_) == HASHED and id_.endswith("=") and not is_plain(id_)
