r"""Elasticsearch 7 to 9, OpenSearch 1 to 3: an index that mirrors the bucket, or one that grows.

Tested with Elasticsearch 7.17 and OpenSearch 2.19, with requests that all these versions have.
Options are MinIO's; an API key, a CA, a client certificate and `tls_skip_verify` are beyond them. A
document is MinIO's `{"Records": [event]}`, in the format `access` as `shape` says. Connecting takes
5 s at most, a request 15 s.

`index` is made when absent, with the fields that the server would make by itself, except that a
key which looks like a date makes none, and that `@timestamp` is another name for
`Records.eventTime` (a CloudEvent's `time`), for whatever wants a time. An index that is there, or
that a template shapes, is used as it is, also one that MinIO filled.

* `namespace`: a document for each object in the bucket, its id `bucket/key` as in MinIO's guide;
  where that has more than 512 bytes, which no server takes, it is MinIO's hash of it, of 44
  characters. In an index where MinIO has hashed all ids, as its newer releases do, all are hashed.
  Any order, split and repetition of deliveries, by any number of writers, ends in the same
  documents (`bucketcast.namespace` has the rules). What that takes stands beside, in the index
  `<index>-guard`: what is known of an object, and of each version with an id, since it saw a
  removal or an event that leaves the object as it is, such as tagging, for 104 days from the last
  one; and for each bucket, for good, the source that wrote of it first, Amazon S3, MinIO or Ceph.
  What another source says of a bucket of that name waits, with a reason: their sequencers cannot
  be compared. It does not lean on how long the server itself remembers deletes
  (`index.gc_deletes`).
* `access`: a document for each event with an id that the server makes, only ever added. A repeated
  delivery is a second document.

Documents are written in bulk and each is confirmed by itself: one that does not fit the mapping is
rejected alone, with the server's reason, and leaves what else is known of its object as it would be
without it; one that the server has no room for now, or whose index is
blocked, comes again. Documents are found by a search after the index's `refresh_interval`, a
second unless changed. Do not delete an index that is in use: until its function starts anew, an
`access` index would come back as the server makes one by itself.

The user needs, on `<index>` and for `namespace` on `<index>-guard`: `create_index`,
`view_index_metadata`, `read` and `write` (OpenSearch's security: `create_index`, `get`, `search`,
`crud` and `indices:admin/mappings/get`, and on the cluster `cluster_composite_ops`). An index may
be an alias of one index. With OpenSearch's segment replication, `namespace` needs 2.10 or newer;
`rest.action.multi.allow_explicit_index` must be on, as it is unless changed.

Not supported: data streams, which want another document; Amazon's signed requests (use a user of
the domain's own database).
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from bucketcast.claims import Claims
from bucketcast.event import Event
from bucketcast.held import Held, Known
from bucketcast.namespace import moves
from bucketcast.options import REFERENCE, LoginUrl, OnOff, Secret, option
from bucketcast.targets import base
from bucketcast.targets.elasticsearch import access, held, index, mirror
from bucketcast.targets.elasticsearch.cluster import (
    CONNECT_SECONDS,
    SECONDS,
    Cluster,
    Talk,
    place,
)
from bucketcast.targets.elasticsearch.outcome import Missing

SWEEP_EVERY = 3600.0
_LONGEST_NAME = 255
_is_name = re.compile(r"(?![-_+])(?!\.{1,2}\Z)[^A-Z\\/*?\"<>| ,#:]+").fullmatch
_TLS = ("cert_authority", "client_cert", "client_key", "tls_skip_verify")


@dataclass(frozen=True, kw_only=True)
class ElasticsearchSettings(base.Common, base.Tls):
    """MinIO's options of `notify_elasticsearch`, and what is needed to reach other servers."""

    url: LoginUrl = option(
        "the server, by http or https; a login in it counts more than username and password",
        example="http://localhost:9200",
    )
    index: str = option(
        "the index to fill, or an alias of one; made when absent", example="bucketevents"
    )
    format: Literal["namespace", "access"] = option(
        "namespace: a document an object, changed and deleted with it; access: a document an event",
        default="namespace",
    )
    username: str = option("who logs in; needs a password", default="")
    password: Secret = option("the password of username", default="")
    api_key: Secret = option(
        "a key of Elasticsearch's instead of a login, as id:key or encoded", default=""
    )
    tls_skip_verify: OnOff = option(
        "take whatever certificate the server shows; for tests only", default="off"
    )


class Target(base.Mirror):
    """One index, and its guard, behind one address."""

    arn_type: ClassVar[str] = "elasticsearch"
    client: ClassVar[str] = "urllib3"
    Settings = ElasticsearchSettings
    patience: ClassVar[float] = 15.0
    settings: ElasticsearchSettings

    def __init__(self, settings: ElasticsearchSettings) -> None:
        super().__init__(settings)
        self._cluster: Cluster | None = None
        self._names: index.Names | None = None
        guard = settings.index + index.GUARD
        self._claims = Claims(self.where, f"its document in the index {guard}")
        self._sweep_at = 0.0
        self._lock = Lock()

    @classmethod
    def check(cls, settings: ElasticsearchSettings) -> list[tuple[str, str, str]]:
        return [
            *_about_url(settings),
            *_about_login(settings),
            *_about_index(settings),
            *super().check(settings),
        ]

    @property
    def longest_send(self) -> float:
        return SECONDS + CONNECT_SECONDS + self.patience

    @property
    def where(self) -> str:
        return f"{place(self.settings.url)}, index {self.settings.index}"

    def send(self, events: Sequence[Event]) -> base.Failures:
        mirrors = self.settings.format == "namespace"
        if not events or (mirrors and not any(map(moves, events))):
            return {}
        talk = self._talk()
        names = self._ready(talk)
        try:
            if mirrors:
                claim = partial(index.claim, talk, names.guard)
                refused = self._claims.refused(events, claim)
                failures = mirror.deliver(talk, names, events, refused, _now())
            else:
                failures = access.deliver(talk, names.visible, events, self.shape)
        except Missing:
            self._forget()
            raise
        if any(isinstance(error, Missing) for error in failures.values()):
            self._forget()
        return failures

    def probe(self) -> None:
        self._found()

    def shares(self, count: int) -> list[str]:
        return held.shares(self._talk(), self._found(), count)

    def held(self, share: str, prefix: str) -> Iterator[Held]:
        return held.rows(self._talk, self._found(), share, prefix, self.patience * base.READING)

    def known(self, paths: Sequence[str]) -> dict[str, Known]:
        return held.of(self._talk, self._found(), paths)

    def close(self) -> None:
        with self._lock:
            cluster, self._cluster = self._cluster, None
            self._forget()
        if cluster is not None:
            cluster.close()

    def _forget(self) -> None:
        """See again what indexes there are, and what they hold."""
        self._names = None
        self._claims.forget()

    def _found(self) -> index.Names:
        return index.found(self._talk(), self.settings.index, self.settings.format)

    def _talk(self) -> Talk:
        with self._lock:
            if self._cluster is None:
                self._cluster = Cluster(self.settings, self.patience)
            return self._cluster.talk()

    def _ready(self, talk: Talk) -> index.Names:
        """The indexes, looked at or made once, and the guard swept now and then."""
        given = self.settings
        with self._lock:  # an index that another thread makes is seen before it can be used
            names = self._names
            if names is None:
                told = index.CLOUDEVENTS if given.shape == "cloudevents" else index.RECORDS
                names = self._names = index.ready(talk, given.index, given.format, told)
            if given.format == "namespace" and time.monotonic() > self._sweep_at:
                more = index.sweep(talk, names.guard, _now())
                self._sweep_at = 0.0 if more else time.monotonic() + SWEEP_EVERY
            return names


def _now() -> int:
    return round(time.time() * 1000)


def _about_url(given: ElasticsearchSettings) -> Iterator[tuple[str, str, str]]:
    text = given.url.reveal()
    if text.startswith(REFERENCE):
        return
    parts = urlsplit(text)
    shown = repr(place(given.url))
    if parts.scheme not in ("http", "https"):
        yield "url", f"found {shown}", "allowed is an http:// or https:// URL"
    elif parts.query or parts.fragment:
        yield "url", f"found {shown} and more", "allowed is a URL that ends with host, port or path"
    if parts.scheme == "http":
        for key in _TLS:
            if getattr(given, key):
                yield key, "given while url is http", "allowed is an https:// URL beside it"


def _about_login(given: ElasticsearchSettings) -> Iterator[tuple[str, str, str]]:
    if bool(given.username) != bool(given.password):
        missing, beside = ("password", "username") if given.username else ("username", "password")
        yield missing, "missing", f"it is needed beside {beside}"
    if given.api_key and (given.username or "@" in urlsplit(given.url.reveal()).netloc):
        yield "api_key", "given beside another login", "allowed is one of them"


def _about_index(given: ElasticsearchSettings) -> Iterator[tuple[str, str, str]]:
    guard = index.GUARD if given.format == "namespace" else ""
    longest = _LONGEST_NAME - len(guard)
    if given.index.startswith(REFERENCE):
        return
    if not _is_name(given.index):
        allowed = 'lower case, none of \\ / * ? " < > | space , # : and no - _ + at the beginning'
        yield "index", f"found {given.index!r}", f"allowed is {allowed}"
    elif len(given.index.encode()) > longest:
        why = f" (the server's {_LONGEST_NAME} less those of {guard})" if guard else ""
        yield "index", f"found {given.index!r}", f"allowed are {longest} bytes{why}"
