"""The HTTP entry's tables: `[entry]`, and an `[entry.NAME]` for each source that posts to it.

A source has a token of its own, which speaks for one dialect and for some buckets. Whoever knows it
can make up any event of these, with whatever sequencer, and of no others.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from bucketcast.config.patterns import matching
from bucketcast.config.tables import Tables
from bucketcast.errors import ConfigError
from bucketcast.settings.environment import ANY_BUCKET, EntrySource
from bucketcast.settings.options import REFERENCE, Csv, Limits, Secret, option

PLAIN: Final = (
    f"{REFERENCE}NAME of a secret in Secrets Manager; plain text is for a local deploy only"
)
FORM: Final = (
    'a table [entry.NAME] for each source, with token, dialect (minio, ceph) and buckets ("photos" '
    'or "team-*")'
)
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")
_ROOM: Final = 3_000
"""Bytes: all variables of a function may have 4 KB together."""


@dataclass(frozen=True, kw_only=True)
class EntryOptions:
    """The HTTP entry, which is made where this table is."""

    reserved_concurrency: int = option(
        "concurrent executions reserved for it, which is also its maximum; 0 reserves none",
        default="0",
        example="20",
        limits=Limits("0", "1000"),
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
        "buckets that it may report; * is any text, ? one character",
        example="photos,team-*",
        parse=matching(r"[A-Za-z0-9._:/*?-]+", "a bucket's name, also with * and ?"),
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


def read_entry(table: Any, tables: Tables) -> EntryConfig | None:
    """Return the checked entry; None if there are errors."""
    if not isinstance(table, dict):
        tables.error("entry", f"found {table!r}", FORM)
        return None
    if "token" in table and not isinstance(table["token"], dict):
        tables.error("entry.token", "found one token for all sources", FORM)
        return None
    posting = {name: each for name, each in table.items() if isinstance(each, dict)}
    own = {key: value for key, value in table.items() if key not in posting}
    options: EntryOptions | None = tables.options(EntryOptions, own, "entry")
    plain: dict[str, str] = {}
    sources = []
    for name, each in posting.items():
        given: Source | None = tables.options(Source, each, f"entry.{name}")
        if given is None:
            continue
        token = _reference(name, given.token.reveal(), plain)
        if plain and not tables.local:
            tables.error(f"entry.{name}.token", "found plain text", PLAIN)
            plain.clear()
        sources.append(EntrySource(name, token, given.dialect, given.buckets))
    if options is None or len(sources) < len(posting):
        return None
    tables.errors += _errors(sources)
    return EntryConfig(tuple(sources), options.reserved_concurrency, plain)


def _reference(name: str, token: str, plain: dict[str, str]) -> str:
    """Return the token as a reference; plain text is added to `plain`, by its secret's name."""
    if token.startswith(REFERENCE):
        return token
    # Of two that are equal the second gets the secret of the first, by which they are found.
    secret = next((reference for reference, text in plain.items() if text == token), "")
    secret = secret or f"bucketcast/entry-{name}/token"
    plain[secret] = token
    return REFERENCE + secret


def _errors(sources: Collection[EntrySource]) -> Iterator[ConfigError]:
    """Yield the errors of all sources together, and of their names."""
    if not sources:
        yield ConfigError("entry", "found no source", FORM)
    owners: dict[str, str] = {}
    for each in sources:
        where = f"entry.{each.name}"
        if not _NAME.fullmatch(each.name):
            allowed = "1 to 32 of A-Z, a-z, 0-9, '_' and '-'"
            yield ConfigError(where, f"found the name {each.name!r}", allowed)
        owner = owners.setdefault(each.token, each.name)
        if owner != each.name:
            allowed = "each source needs a token of its own"
            yield ConfigError(f"{where}.token", f"found the token of entry.{owner}", allowed)
    size = len(EntrySource.to_text(sources).encode())
    if size > _ROOM:
        allowed = f"allowed are {_ROOM:,}: use patterns for buckets, and shorter names"
        yield ConfigError("entry", f"found {size:,} bytes of sources", allowed)


def notes(sources: Collection[EntrySource], buckets: Collection[str]) -> Iterator[str]:
    """Yield a note for each source that may report buckets of S3."""
    for each in sources:
        theirs = [name for name in buckets if any(fnmatchcase(name, at) for at in each.buckets)]
        if ANY_BUCKET in each.buckets:
            yield f"entry.{each.name}.buckets: * allows events of every bucket, also of those in S3"
        elif theirs:
            yield (
                f"entry.{each.name}.buckets: includes {', '.join(theirs)}, which the deploy also "
                "connects to S3: both would share rules and mirrors"
            )
