"""What a target is: settings, and how a batch of events gets there.

A kind is one module with a class `Target` that derives from this one. It holds only what is
particular to the product: queueing, retries, secrets, logs and metrics are done around it. It
opens its connection on first use and keeps it; whoever catches a `NotConnected` closes it.
"""

import abc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Self

from bucketcast import shapes
from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.held import Held, Known
from bucketcast.options import OnOff, Pem, SecretPem, option, unused, without_use

SPARE = 5.0
"""Seconds of a function's time to say what was not sent, after a last batch that went badly."""
READING = 10
"""How many times longer than for a batch a server is waited for that looks through many rows."""
Failures = Mapping[int, DeliveryError]
"""What did not arrive, by its place in the batch; empty when everything did."""


@dataclass(frozen=True, kw_only=True)
class Shaped:
    """How events are written; MinIO knows but its own way."""

    shape: shapes.Name = option(
        "the dialect of what is sent: MinIO's, the record as Amazon S3 or as Ceph RGW sends it, or "
        "a CloudEvent, in one document or with its attributes in headers",
        default="minio",
    )
    opaque_data: str = option(
        "what Ceph's records have as opaqueData; with shape = ceph", default="", example="team-a"
    )


@dataclass(frozen=True, kw_only=True)
class Common(Shaped):
    """The options that every kind has in MinIO, and how events are written."""

    enable: OnOff = option("whether the target is there at all", default="on")
    comment: str = option("a sentence for whoever reads the configuration", default="")
    queue_dir: str = unused("the target's SQS queue keeps what waits", default="")
    queue_limit: int = unused("an SQS queue has no such limit", default="0", example="100000")


@dataclass(frozen=True, kw_only=True)
class Tls:
    """The options of a verified connection; PEM text, or the path of a file at deploy."""

    cert_authority: Pem = option("the CA that signed the server's certificate", default="")
    client_cert: Pem = option("this client's certificate, for mutual TLS", default="")
    client_key: SecretPem = option("the private key of client_cert", default="")


class Target(abc.ABC):
    """One configured target."""

    arn_type: ClassVar[str]
    """The last field of its ARN, as MinIO names the kind."""
    client: ClassVar[str]
    """The client library's module, imported while the function starts."""
    Settings: ClassVar[type[Any]]
    """The dataclass that declares its options."""
    batch_size: ClassVar[int] = 1000
    """How many events one `send` takes at most."""
    patience: ClassVar[float] = 30.0
    """Seconds until a server that says nothing is given up."""
    attributes_prefix: ClassVar[str | None] = None
    """What a CloudEvent's attributes are called by in headers; None where there are no headers."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.shape = shapes.shape(settings.shape, settings.opaque_data)

    @classmethod
    def preload(cls) -> None:
        """Import the client library, which belongs into a function's start."""
        import_module(cls.client)

    @classmethod
    def check(cls, settings: Any) -> list[tuple[str, str, str]]:
        """What no single option shows: (key, what was found, what is allowed) for each mistake."""
        if isinstance(settings, Tls) and bool(settings.client_cert) != bool(settings.client_key):
            names = ("client_cert", "client_key")
            missing, beside = names if settings.client_key else names[::-1]
            return [(missing, "missing", f"it is needed beside {beside}")]
        return list(cls._misshapen(settings))

    @classmethod
    def _misshapen(cls, settings: Any) -> Iterator[tuple[str, str, str]]:
        shape = settings.shape
        if getattr(settings, "format", "") == "namespace" and shape != "minio":
            allowed = "minio: a mirror is guarded by what its records say; or format = access"
            yield "shape", f"found '{shape}' beside format = namespace", f"allowed is {allowed}"
        if shape == "cloudevents-binary" and cls.attributes_prefix is None:
            allowed = "cloudevents, which needs none"
            yield "shape", f"found '{shape}', which needs headers", f"allowed is {allowed}"
        if settings.opaque_data and shape != "ceph":
            yield "opaque_data", f"found beside shape = {shape}", "allowed is shape = ceph"

    @classmethod
    def notes(cls, settings: Any) -> list[str]:
        """What whoever gave these settings, which are right, should know."""
        return list(without_use(settings))

    @property
    def longest_send(self) -> float:
        """Seconds that one `send` takes at the most, when nothing goes well.

        No batch is begun with less of the function's time left: one that is cut short is sent
        again as a whole.
        """
        return 40.0

    @property
    def keeps_rows(self) -> bool:
        """Whether an event from before what the target remembers could spoil what it holds."""
        return False

    @property
    def first_alone(self) -> bool:
        """Whether the first event of an invocation is confirmed before the others are sent.

        A target that is frozen takes what is sent and says nothing: all of it is sent again, and
        arrives twice. Rows that are written twice are the same.
        """
        return not self.keeps_rows

    def headers(self, event: Event) -> dict[str, str]:
        """What stands beside an event's body, where the product has such a place."""
        attributes, prefix = self.shape.attributes, self.attributes_prefix
        if attributes is None or prefix is None:
            return {}
        return {prefix + name: text for name, text in attributes(event).items()}

    def body(self, event: Event) -> bytes:
        """What is sent of an event, exactly; where there are formats, the value that is written."""
        rows = hasattr(self.settings, "format")
        return self.shape.value(event) if rows else self.shape.message(event)

    @property
    @abc.abstractmethod
    def where(self) -> str:
        """Where events go, for people; never a secret."""

    @abc.abstractmethod
    def send(self, events: Sequence[Event]) -> Failures:
        """Deliver a batch; what is neither in the answer nor covered by a raised error arrived.

        Raises:
            DeliveryError: it is about every event of the batch.
        """

    @abc.abstractmethod
    def probe(self) -> None:
        """See whether events could be delivered now, leaving nothing behind.

        Raises:
            DeliveryError: they could not.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Drop the connection, if there is one; the next `send` opens another."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Mirror(Target):
    """A kind that can keep a row an object (`format = "namespace"`), and then tells what it holds.

    Only in that format it may be asked. Nothing is made where nothing is: an absent table holds no
    rows. While `held` is read, the target is used for nothing else.
    """

    @property
    def keeps_rows(self) -> bool:
        return str(self.settings.format) == "namespace"

    @abc.abstractmethod
    def shares(self, count: int) -> list[str]:
        """Parts that can be read side by side, about `count`, and together are all rows.

        Each is a text that another process gives to `held`. A row that is written meanwhile may
        be missed, or be in two of them.

        Raises:
            DeliveryError: the target cannot be asked.
        """

    @abc.abstractmethod
    def held(self, share: str, prefix: str) -> Iterator[Held]:
        """The rows of a share whose path begins with `prefix`, as they come from the server.

        Raises:
            DeliveryError: the target cannot be asked, or stopped answering.
        """

    @abc.abstractmethod
    def known(self, paths: Sequence[str]) -> dict[str, Known]:
        """What is known of each path now; those of which nothing is known are left out.

        Raises:
            DeliveryError: the target cannot be asked.
        """
