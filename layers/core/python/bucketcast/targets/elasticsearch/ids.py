"""The id of an object's document: `bucket/key`, or its hash if it is too long."""

import hashlib

MAX_ID_BYTES = 512
"""Maximum length of an id, in every version of both products."""


def document_id(path: str) -> str:
    """Return the id for `bucket/key`."""
    plain = path.encode()
    return path if len(plain) <= MAX_ID_BYTES else hashlib.sha256(plain).hexdigest()


def version_id(path: str, version: str) -> str:
    """Return the id of a version's guard document; only these ids begin with a blank."""
    name = f"{path}\0{version}".encode()
    return " " + hashlib.blake2b(name, digest_size=32).hexdigest()


def is_plain(id_: str) -> bool:
    """Return True for a `bucket/key`: hashes, and ids that the server assigned, have no slash."""
    return "/" in id_
