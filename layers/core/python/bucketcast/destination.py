"""Destinations: what a rule sends events to, and the ARNs that name them.

`Destination.of` reads an ARN once, where a rule is compiled or a user names something. From there
on the class says what it is.
"""

import hashlib
import re
from typing import ClassVar, Final, Self

import msgspec

PREFIX: Final = "arn:minio:sqs:"
_KINDS: Final = {"postgresql": "postgres"}
"""The kinds whose type in ARNs is not their name. A table, because the target modules are not
imported where only an ARN is at hand."""
_OF_TOPIC: Final = re.compile(r"topic-[0-9a-f]{16}")


class Destination(msgspec.Struct, frozen=True, cache_hash=True):
    """What a rule sends events to; `form` is how the ARNs of its class look."""

    form: ClassVar[str] = "arn:"

    @staticmethod
    def of(arn: str) -> "Destination":
        """Return what an ARN names, which need not exist; `Unknown` if it has no known form."""
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
        found = Destination.of(text)
        if not isinstance(found, cls):
            raise ValueError(f"invalid ARN '{text}': the form is {cls.form}")  # noqa: TRY004
        return found

    @property
    def arn(self) -> str:
        raise NotImplementedError

    @property
    def plain(self) -> str:
        """The ARN as rules store it."""
        return self.arn

    @property
    def of_topic(self) -> bool:
        """Whether it is a topic, or the dynamic target of one, which only the topic may use."""
        return False

    def __str__(self) -> str:
        return self.arn


class TargetArn(Destination, frozen=True):
    """A target, deployed or made at run time; `region` is usually empty, as MinIO's default is."""

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
    def of_topic(self) -> bool:
        return bool(_OF_TOPIC.fullmatch(self.id))


class TopicArn(Destination, frozen=True):
    """A topic of Ceph's, whatever its region is; `tenant` is "" for users without one."""

    region: str
    tenant: str
    name: str

    form = "arn:aws:sns:<region>:<tenant>:<name>"

    @property
    def arn(self) -> str:
        return f"arn:aws:sns:{self.region}:{self.tenant}:{self.name}"

    @property
    def target_id(self) -> str:
        """The id of its dynamic target: topics may have longer names than queues."""
        return "topic-" + hashlib.sha256(f"{self.tenant}:{self.name}".encode()).hexdigest()[:16]

    @property
    def of_topic(self) -> bool:
        return True


class ListenerArn(Destination, frozen=True):
    """A listener; no other system knows this form."""

    id: str

    @property
    def arn(self) -> str:
        return f"arn:bucketcast:listen:::{self.id}"


class Unknown(Destination, frozen=True):
    """Nothing that exists: its ARN has no known form."""

    arn: str
