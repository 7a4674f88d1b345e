"""Destinations: targets, topics and listeners that a rule sends events to, and their ARNs.

`Destination.of` reads an ARN once, where a rule is compiled or a user enters one. After that the
class decides.
"""

import hashlib
from typing import ClassVar, Final, Self

import msgspec

PREFIX: Final = "arn:minio:sqs:"
_KINDS: Final = {"postgresql": "postgres"}
"""The kinds whose type in ARNs is not their name. A table, because the target modules are not
imported to read an ARN."""
_TOPIC: Final = "topic-"
"""The keys of targets have a colon, whatever type their ARN says: none is a topic's."""


def short_name(arn: str) -> str:
    """Return what people call a destination, or the text if it is no ARN of one.

    `targets.named` reads the name of a target.
    """
    return Destination.of(arn).short


class Destination(msgspec.Struct, frozen=True, cache_hash=True):
    """A destination of a rule's events; `form` is the form of its class's ARNs."""

    form: ClassVar[str] = "arn:"

    @staticmethod
    def of(arn: str) -> "Destination":
        """Return the destination of an ARN; it need not exist. `Unknown` if the form is."""
        match arn.split(":"):
            case ["arn", "minio", "sqs", region, id_, type_] if id_ and type_:
                return TargetArn(id_, type_, region)
            case ["arn", "aws", "sns", region, tenant, name] if name:
                return TopicArn(region, tenant, name)
            case ["arn", "bucketcast", "listen", "", "", id_]:
                return ListenerArn(id_)
        return Unknown(arn)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an ARN of this class.

        Raises:
            ValueError: it has another form.
        """
        destination = Destination.of(text)
        if not isinstance(destination, cls):
            raise ValueError(f"invalid ARN '{text}': the form is {cls.form}")  # noqa: TRY004
        return destination

    @property
    def arn(self) -> str:
        raise NotImplementedError

    @property
    def plain(self) -> str:
        """The ARN as rules store it."""
        return self.arn

    @property
    def short(self) -> str:
        """The name that people read in tables: `KIND:ID` of a target, else the ARN."""
        return self.arn

    @property
    def key(self) -> str:
        """Identifies it, whatever its region is."""
        return self.short

    def __str__(self) -> str:
        return self.arn


class TargetArn(Destination, frozen=True):
    """A target, deployed or dynamic; `region` is usually empty, as MinIO's default is."""

    id: str
    type: str
    region: str = ""

    form = f"{PREFIX}<region>:<id>:<type>"

    @property
    def arn(self) -> str:
        return f"{PREFIX}{self.region}:{self.id}:{self.type}"

    @property
    def kind(self) -> str:
        """The kind of target for this type, which need not exist; "" if it is not a type."""
        name = "" if self.type in _KINDS.values() else self.type
        return _KINDS.get(self.type, name)

    @property
    def plain(self) -> str:
        """The ARN without its region, as rules store it, whatever region MinIO puts there."""
        return f"{PREFIX}:{self.id}:{self.type}"

    @property
    def short(self) -> str:
        return f"{self.kind}:{self.id}" if self.kind else self.arn


class TopicArn(Destination, frozen=True):
    """A topic of Ceph's, in any region; `tenant` is "" for users without one."""

    region: str
    tenant: str
    name: str

    form = "arn:aws:sns:<region>:<tenant>:<name>"

    @property
    def arn(self) -> str:
        return f"arn:aws:sns:{self.region}:{self.tenant}:{self.name}"

    @property
    def id(self) -> str:
        """Stands for tenant and name in the names of queues, which may not be as long."""
        return _digest(self.tenant, 4) + _digest(f"{self.tenant}:{self.name}", 16)

    @property
    def key(self) -> str:
        return f"{_TOPIC}{self.id}"

    @staticmethod
    def keys_of(tenant: str | None) -> str:
        """Return what the keys of a tenant's topics begin with (None: of all topics)."""
        return _TOPIC if tenant is None else f"{_TOPIC}{_digest(tenant, 4)}"


class ListenerArn(Destination, frozen=True):
    """A listener; no other system knows this form."""

    id: str

    @property
    def arn(self) -> str:
        return f"arn:bucketcast:listen:::{self.id}"


class Unknown(Destination, frozen=True):
    """No destination that exists: its ARN has no known form."""

    arn: str


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
