"""A request as received, with its target unchanged, and the bucket and key it names.

The path and the query are kept as sent: that text is what is signed and what S3 gets, never a
decoded and encoded one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self
from urllib.parse import unquote, unquote_plus

from bucketcast.web.errors import S3Error

MAX_TARGET: Final = 16_384
"""Bytes of path and query: a key has 1,024, encoded as `%XX` at most 3,072."""
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_DOTTED: Final = "the {} holds a segment . or .., encoded or not"
_BYTES: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_SDK_NAME: Final = "x-id"
_HEADER_PREFIX: Final = "x-amz-"
COPY_SOURCE: Final = "x-amz-copy-source"
_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.\-_]{1,254}")


@dataclass(frozen=True)
class RawRequest:
    """`path` and `query` as sent; `headers` by lower-case name, repeats joined by a comma.

    `bucket` and `key` are decoded, "" if the call names none; `rest` is the path after the
    bucket as sent, beginning with `/`.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    bucket: str = ""
    key: str = ""
    rest: str = "/"

    @classmethod
    def of(
        cls,
        method: str,
        path: str,
        query: str,
        headers: Iterable[tuple[str, str]],
        domains: Iterable[str] = (),
    ) -> Self:
        """Parse a request; a host `BUCKET.DOMAIN` names the bucket, else the path does.

        Raises:
            S3Error: the target is ambiguous, or names no valid bucket.
        """
        joined: dict[str, str] = {}
        for name, value in headers:
            lower = name.lower()
            joined[lower] = f"{joined[lower]},{value}" if lower in joined else value
        _check_target(path, query)
        bucket, rest = _bucket_of_host(joined.get("host", ""), domains), path
        if not bucket:
            _, _, remainder = path.partition("/")
            first, slash, key_path = remainder.partition("/")
            bucket, rest = unquote(first), "/" + key_path
            if not bucket and slash:
                raise S3Error("InvalidURI", "the path begins with //, which names no bucket")
        if bucket and not is_bucket_name(bucket):
            raise S3Error("InvalidBucketName")
        call = cls(method, path, query, joined, bucket, unquote(rest[1:]), rest)
        for source in call.values(COPY_SOURCE):
            if _has_dots(source.partition("?")[0]):
                raise S3Error("InvalidArgument", _DOTTED.format("copy source"))
        return call

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The query, as names and values as sent."""
        parts = (part.partition("=") for part in self.query.split("&") if part)
        return tuple((name, value) for name, _, value in parts)

    @cached_property
    def params(self) -> Mapping[str, list[str]]:
        """The decoded query: the values of each name, in their order."""
        values: dict[str, list[str]] = {}
        for name, value in self.pairs:
            values.setdefault(unquote_plus(name), []).append(unquote_plus(value))
        return values

    @cached_property
    def subresources(self) -> frozenset[str]:
        """The query's names, without those that are headers or an SDK's own."""
        return frozenset(
            name
            for name in self.params
            if name.lower() != _SDK_NAME and not name.lower().startswith(_HEADER_PREFIX)
        )

    @property
    def is_of_bucket(self) -> bool:
        """True if it is about a bucket itself: PUT creates it, DELETE removes it."""
        return bool(self.bucket) and not self.key and not self.subresources

    def values(self, header: str) -> list[str]:
        """Return the values of an `x-amz-` header, which a presigned call may have in its query."""
        in_query = (values for name, values in self.params.items() if name.lower() == header)
        found = [value for values in in_query for value in values]
        return [self.headers[header], *found] if header in self.headers else found

    def first(self, name: str) -> str | None:
        """Return the first value of a query's name; None if it is missing."""
        values = self.params.get(name)
        return values[0] if values else None


def is_bucket_name(text: str) -> bool:
    return _BUCKET.fullmatch(text) is not None


def _check_target(path: str, query: str) -> None:
    if len(path) + len(query) > MAX_TARGET:
        raise S3Error("InvalidURI", f"path and query are longer than {MAX_TARGET:,} bytes")
    if not path.startswith("/"):
        raise S3Error("InvalidURI", "the path does not begin with /")
    if _BROKEN_ESCAPE.search(path) or _BROKEN_ESCAPE.search(query):
        raise S3Error("InvalidURI", "a % is not followed by two hexadecimal digits")
    if "\0" in unquote(path):
        raise S3Error("InvalidURI", "the path holds a NUL")
    # A proxy before S3 may resolve these, and so reach another bucket.
    if _has_dots(path):
        raise S3Error("InvalidURI", _DOTTED.format("path"))


def _has_dots(path: str) -> bool:
    return any(part in (".", "..") for part in unquote(path).split("/"))


def _bucket_of_host(host: str, domains: Iterable[str]) -> str:
    """Return the bucket that a host names, or ""."""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    for domain in domains:
        if name.lower().endswith(f".{domain}"):
            return name[: -len(domain) - 1]
    return ""


def byte_count(text: str) -> int | None:
    """Return the number of bytes that a header says, None if it is no number of a body's size."""
    return int(text) if _BYTES.fullmatch(text) else None
