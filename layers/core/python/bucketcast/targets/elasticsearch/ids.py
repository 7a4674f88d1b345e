"""The id of an object's document: `bucket/key`, or its hash if it is too long."""

import hashlib
from base64 import urlsafe_b64encode

from bucketcast.targets.elasticsearch.highwayhash import highwayhash256

MAX_ID_BYTES = 512
"""Maximum length of an id, in every version of both products."""
HASHED_LENGTH = 44
"""Characters of a hashed id."""
_KEY = bytes.fromhex("4be734fa8e238acd263e83e6bb968552040f935da39f441497e09d1322de36a0")
"""MinIO's public key; its newer releases hash every id with it."""


def document_id(path: str, *, always_hashed: bool = False) -> str:
    """Return the id for `bucket/key`."""
    plain = path.encode()
    if always_hashed or len(plain) > MAX_ID_BYTES:
        return urlsafe_b64encode(highwayhash256(plain, _KEY)).decode()
    return path


def version_id(path: str, version: str) -> str:
    """Return the id of a version's guard document; only these ids begin with a blank."""
    name = f"{path}\0{version}".encode()
    return " " + hashlib.blake2b(name, digest_size=32).hexdigest()


def is_plain(id_: str) -> bool:
    """Return True for a `bucket/key`: hashes, and ids that the server assigned, have no slash."""
    return "/" in id_


def is_hashed(id_: str) -> bool:
    """Return True if it looks like a hash of `bucket/key`; the server's own ids are shorter."""
    return len(id_) == HASHED_LENGTH and id_.endswith("=") and not is_plain(id_)
