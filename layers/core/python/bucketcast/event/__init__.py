"""The event, as every stage after the sources has it, with its order and its ids.

`Event` is the one type, `form` makes its record of what records have in common, `names` has the
names that MinIO, Amazon S3 and Ceph give to events, and `encoded_words` decodes S3's spelling of
non-ASCII metadata.
"""

import re
from hashlib import blake2b
from typing import Annotated
from urllib.parse import quote_plus

import msgspec
from msgspec.structs import force_setattr

from bucketcast.event.form import Form

SEQUENCER_DIGITS = 32
OBJECT_DIGITS = 10
"""The first digits of an id, which are those of its object."""
AGENT = "Bucketcast "
"""The beginning of the user agent in records that our own jobs make of objects in Amazon S3."""

# Values that later stages look up, compare or store as text are validated here: refused later, one
# broken record would take the other events of its message with it.
BucketName = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
SEQUENCER = r"^[0-9A-Fa-f]{0,32}\Z"
TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z\Z"
Sequencer = Annotated[str, msgspec.Meta(pattern=SEQUENCER)]
Size = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Time = Annotated[str, msgspec.Meta(pattern=TIME)]
_needs_only_slashes = re.compile(r"[A-Za-z0-9_.~/-]*").fullmatch


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event of one object.

    `name` is MinIO's (`s3:ObjectCreated:Put`), `key` is decoded, `time` is UTC with exactly three
    decimals (`2026-01-02T03:04:05.678Z`), `sequencer` is as the source sent it, or "". `size`,
    `etag` and `version_id` are None if the source does not state them: absent is not zero. `stored`
    is the original record, or the form that this event fills.

    `metadata` is the user's (`x-amz-meta-…` in lower case → value), `tags` are pairs; both are None
    until they are stated or fetched, as are `headers`, the rest of what MinIO lists among an
    object's metadata (`cache-control` → value). `original` is the source's name of the event if
    MinIO's says less (`s3:LifecycleExpiration:Delete`), `dialect` is the format of the record if
    that is not Amazon S3's, and `rule` is the rule that matched: its name if `named`, else its id.

    `listed` is the time of the listing from which a job of ours made the event, as in `time`. It
    says what was true then, whenever it is about. `known_id` is the id once it was asked for. If
    the event is `plain`, no text in it needs an escape in JSON.
    """

    name: str
    bucket: str
    key: str
    time: str
    sequencer: str
    stored: msgspec.Raw | Form
    size: int | None = None
    etag: str | None = None
    version_id: str | None = None
    region: str = ""
    principal: str = ""
    owner: str = ""
    source_ip: str = ""
    request_id: str = ""
    host_id: str = ""
    user_agent: str = ""
    content_type: str | None = None
    storage_class: str | None = None
    metadata: dict[str, str] | None = None
    tags: list[tuple[str, str]] | None = None
    original: str = ""
    dialect: str = ""
    headers: dict[str, str] | None = None
    listed: str = ""
    known_id: str = ""
    rule: str = ""
    named: bool = False
    plain: bool = False

    @property
    def record(self) -> msgspec.Raw:
        """The original record, byte for byte."""
        return self.stored.fill(self) if isinstance(self.stored, Form) else self.stored

    @property
    def quoted_key(self) -> str:
        """The key as S3 and MinIO quote it in a record."""
        return quoted(self.key, safe="" if self.dialect == "minio" else "/*")

    @property
    def order(self) -> tuple[str, str]:
        """The order of the event; compare it only within one bucket and key.

        S3 says to pad the shorter sequencer on the left; that compares them as numbers.
        """
        return (padded(self.sequencer), self.time)

    @property
    def id(self) -> str:
        """The id of the event, the same for each delivery by any path.

        Its first part is that of the object. One DeleteObjects call gives all its records one
        request id, hence the version.
        """
        if not self.known_id:
            request = self.request_id or self.sequencer.lower().lstrip("0") or self.time
            rest = f"{self.key}\0{self.version_id or ''}\0{self.name}\0{request}"
            force_setattr(self, "known_id", object_id(self.bucket, self.key) + _digest(rest, 7))
        return self.known_id

    @property
    def copy_id(self) -> str:
        """The id of the copy: one per event, and one more per named rule."""
        return copy_id(self.id, self.rule if self.named else "")


def copy_id(event_id: str, name: str) -> str:
    """Return the event's id, or that of the copy for the rule of this name."""
    return f"{event_id}-{_digest(name, 8)}" if name else event_id


def object_id(bucket: str, key: str) -> str:
    """Return the digits with which the ids of an object's events begin; they reveal no key."""
    return _digest(f"{bucket}\0{key}", OBJECT_DIGITS // 2)


def _digest(text: str, size: int) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def quoted(key: str, safe: str = "") -> str:
    """Return a key as MinIO quotes it in a record; as S3 does if `/*` are safe."""
    if _needs_only_slashes(key):
        return key if safe else key.replace("/", "%2F")
    return quote_plus(key, safe=safe)


def padded(sequencer: str) -> str:
    """Return a sequencer as 32 lower-case hex digits, which compare as text; "" stays ""."""
    return sequencer.lower().rjust(SEQUENCER_DIGITS, "0") if sequencer else ""


def to_millis(time: str) -> str:
    """Return an ISO 8601 UTC time with exactly three decimals, so that times compare as text."""
    if len(time) == 24 and time[19] == ".":  # noqa: PLR2004 - what S3 sends is already in form
        return time
    whole, _, fraction = time.removesuffix("Z").partition(".")
    return f"{whole}.{fraction[:3]:0<3}Z"
