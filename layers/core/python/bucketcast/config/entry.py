"""The HTTP entry's tables: `[entry]`, and an `[entry.NAME]` for each source that posts to it.

A source has a token of its own, which speaks for one dialect and for some buckets. Whoever knows it
can make up any event of these, with whatever sequencer, and of no others.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from bucketcast.errors import ConfigError
from bucketcast.settings.environment import ANY_BUCKET, EntrySource
from bucketcast.settings.options import REFERENCE, Csv, Secret, option

PLAIN: Final = (
    f"{REFERENCE}NAME of a secret in Secrets Manager; plain text is for a local deploy only"
)
FORM: Final = (
    'a table [entry.NAME] for each source, with token, dialect (minio, ceph) and buckets ("photos" '
    'or "team-*")'
)
Read = Callable[[type[Any], Any, str], Any]
"""Reads a table into a dataclass of options; None if something is wrong, which is then reported."""
Wrong = Callable[[str, str, str], None]
"""Takes the key of a mistake, what was found, and what is allowed."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")
_BUCKETS: Final = re.compile(r"[A-Za-z0-9._:/*?-]+")
_MOST: Final = 1_000
_ROOM: Final = 3_000
"""Bytes: all variables of a function may have 4 KB together."""


@dataclass(frozen=True, kw_only=True)
class EntryOptions:
    """The HTTP entry, which is made where this table is."""

    reserved_concurrency: int = option(
        "concurrent executions reserved for it, which is also its maximum; 0 reserves none",
        default="0",
        example="20",
    )


@dataclass(frozen=True, kw_only=True)
class Source:
    """Who posts to the HTTP entry."""

    token: Secret = option(
        "token of this source: MinIO's auth_token, or the password in Ceph RGW's endpoint URL",
        example="secret:bucketcast-entry",
    )
    dialect: Literal["minio", "ceph", "s3"] = option(
        "format of its records; s3 is Amazon's own, which other systems use too", example="minio"
    )
    buckets: Csv = option(
        "buckets that it may report; * is any text, ? one character", example="photos,team-*"
    )


@dataclass(frozen=True, slots=True)
class EntryConfig:
    """The checked entry; tokens are references."""

    sources: tuple[EntrySource, ...]
    reserved_concurrency: int = 0
    plain_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def secret_names(self) -> frozenset[str]:
        """The secrets that it reads, without the fields inside of them."""
        return frozenset(
            each.token.removeprefix(REFERENCE).partition("#")[0] for each in self.sources
        )


def config(table: Any, *, read: Read, wrong: Wrong, local: bool) -> EntryConfig | None:
    """What the tables amount to; None if something is wrong, which is added to `wrong`."""
    if not isinstance(table, dict):
        wrong("entry", f"found {table!r}", FORM)
        return None
    if "token" in table and not isinstance(table["token"], dict):
        wrong("entry.token", "found one token for all sources", FORM)
        return None
    tables = {name: each for name, each in table.items() if isinstance(each, dict)}
    own = {key: value for key, value in table.items() if key not in tables}
    options: EntryOptions | None = read(EntryOptions, own, "entry")
    plain: dict[str, str] = {}
    sources = []
    for name, each in tables.items():
        given: Source | None = read(Source, each, f"entry.{name}")
        if given is None:
            continue
        token = _reference(name, given.token.reveal(), plain)
        if plain and not local:
            wrong(f"entry.{name}.token", "found plain text", PLAIN)
            plain.clear()
        sources.append(EntrySource(name, token, given.dialect, given.buckets))
    if options is None or len(sources) < len(tables):
        return None
    for error in _mistakes(options, sources):
        wrong(error.key, error.found, error.allowed)
    return EntryConfig(tuple(sources), options.reserved_concurrency, plain)


def _reference(name: str, token: str, plain: dict[str, str]) -> str:
    """The token as a reference; one in plain text goes to `plain`, by the name of its secret."""
    if token.startswith(REFERENCE):
        return token
    # Of two that are equal the second gets the secret of the first, by which they are found.
    secret = next((reference for reference, text in plain.items() if text == token), "")
    secret = secret or f"bucketcast/entry-{name}/token"
    plain[secret] = token
    return REFERENCE + secret


def _mistakes(options: EntryOptions, sources: Collection[EntrySource]) -> Iterator[ConfigError]:
    """What is wrong with the tables beyond what each option allows."""
    if not sources:
        yield ConfigError("entry", "found no source", FORM)
    found = options.reserved_concurrency
    if not 0 <= found <= _MOST:
        yield ConfigError(
            "entry.reserved_concurrency", f"found {found}", f"allowed is 0 to {_MOST}"
        )
    owners: dict[str, str] = {}
    for each in sources:
        where = f"entry.{each.name}"
        if not _NAME.fullmatch(each.name):
            allowed = "1 to 32 of A-Z, a-z, 0-9, '_' and '-'"
            yield ConfigError(where, f"found the name {each.name!r}", allowed)
        for bucket in each.buckets:
            if not _BUCKETS.fullmatch(bucket):
                allowed = "allowed are names of buckets, * and ?"
                yield ConfigError(f"{where}.buckets", f"found {bucket!r}", allowed)
        owner = owners.setdefault(each.token, each.name)
        if owner != each.name:
            allowed = "each source needs a token of its own"
            yield ConfigError(f"{where}.token", f"found the token of entry.{owner}", allowed)
    size = len(EntrySource.to_text(sources).encode())
    if size > _ROOM:
        allowed = f"allowed are {_ROOM:,}: use patterns for buckets, and shorter names"
        yield ConfigError("entry", f"found {size:,} bytes of sources", allowed)


def notes(sources: Collection[EntrySource], buckets: Collection[str]) -> Iterator[str]:
    """What is allowed, and lets a source speak for buckets that are S3's."""
    for each in sources:
        theirs = [name for name in buckets if any(fnmatchcase(name, at) for at in each.buckets)]
        if ANY_BUCKET in each.buckets:
            yield f"entry.{each.name}.buckets: * allows events of every bucket, also of those in S3"
        elif theirs:
            yield (
                f"entry.{each.name}.buckets: includes {', '.join(theirs)}, which the deploy also "
                "connects to S3: both would share rules and mirrors"
            )
