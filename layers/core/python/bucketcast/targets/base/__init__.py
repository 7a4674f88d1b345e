"""The interface of a target: settings, and the delivery of a batch of events.

A kind is a package with a class `Target` that derives from the one here. It only contains what is
specific to the product; queueing, retries, secrets, logs and metrics are handled by its callers. It
connects on first use and keeps the connection; a caller that catches `NotConnected` closes it.
"""

import abc
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from bucketcast import shapes
from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.settings.options import unused_notes
from bucketcast.targets.base import options
from bucketcast.targets.base.endpoint import Endpoint as Endpoint
from bucketcast.targets.base.options import ValidationError

READING = 10
"""Factor by which the time-out of a batch grows for reading many rows."""
CONNECT_SECONDS = 5.0
"""Limit for connecting, including TLS and login where the client library allows it."""
IDLE_SECONDS = 300.0
"""How long a connection may be unused. AWS's NAT gateways and load balancers drop one after 350 s,
and a function that is frozen does not hear of it."""
Failures = Mapping[int, DeliveryError]
"""The events that were not delivered, by index in the batch, with the reason."""


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


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
    timeout: ClassVar[float] = 30.0
    """Seconds to wait for a server that does not answer."""
    attributes_prefix: ClassVar[str | None] = None
    """The prefix of a CloudEvent's attributes in headers; None where there are no headers."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.shape = shapes.shape(settings.shape, settings.opaque_data)

    @classmethod
    def preload(cls) -> None:
        """Import the client library, while the function starts."""
        import_module(cls.client)

    @classmethod
    def check(cls, settings: Any) -> list[ValidationError]:
        """Return the errors that concern several options together."""
        shape = cls._shape_errors(settings)
        return [*settings.validation_errors(), *options.limit_errors(settings), *shape]

    @classmethod
    def _shape_errors(cls, settings: Any) -> Iterator[ValidationError]:
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
        """Return what the user of these settings, which are valid, should know."""
        return [*unused_notes(settings), *options.limit_notes(settings), *settings.notes()]

    @property
    def max_send_seconds(self) -> float:
        """The longest time that one `send` may take, in seconds.

        No batch is started when the function has less time left: an interrupted batch would be
        sent again as a whole.
        """
        return 40.0

    @property
    def keeps_rows(self) -> bool:
        """Whether an event from before what the target remembers could spoil what it holds."""
        return False

    @property
    def first_alone(self) -> bool:
        """Whether the first event of an invocation is confirmed before the others are sent.

        A server that hangs may accept everything without an answer, and then gets it twice. That
        does not matter for rows, which are the same when they are written again.
        """
        return not self.keeps_rows

    def headers(self, event: Event) -> dict[str, str]:
        """Return an event's headers, if the product supports them."""
        attributes, prefix = self.shape.attributes, self.attributes_prefix
        if attributes is None or prefix is None:
            return {}
        return {prefix + name: text for name, text in attributes(event).items()}

    def body(self, event: Event) -> bytes:
        """Return the exact bytes sent for an event; for a kind with formats, the value written."""
        rows = hasattr(self.settings, "format")
        return self.shape.value(event) if rows else self.shape.message(event)

    @property
    @abc.abstractmethod
    def where(self) -> str:
        """The destination, for people; never contains a secret."""

    @abc.abstractmethod
    def send(self, events: Sequence[Event]) -> Failures:
        """Deliver a batch; every event not in the returned failures was delivered.

        Raises:
            DeliveryError: the whole batch failed.
        """

    def endpoints(self) -> Sequence[Endpoint]:
        """Return where its servers listen, for a look at each; none if that is unknown.

        Raises:
            DeliveryError: the settings, or a certificate in them, cannot be used.
        """
        return ()

    def login(self) -> None:
        """Connect and log in, without a look at the table, topic or the like.

        Raises:
            DeliveryError: the server cannot be reached, or refuses the login.
        """
        self.probe()

    @abc.abstractmethod
    def probe(self) -> None:
        """Check whether events can be delivered now, without side effects.

        Raises:
            DeliveryError: they cannot.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Close the connection, if any; the next `send` opens another."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Connected(Target, Generic[C]):
    """A target with one connection: opened on first use, kept, dropped on any error.

    Threads take turns: `_lock` is held while the connection is used.
    """

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self._lock = RLock()
        self._open: C | None = None
        self._used = 0.0

    def login(self) -> None:
        with self._connection():
            pass

    def close(self) -> None:
        with self._lock:
            self._drop()

    @abc.abstractmethod
    def _connect(self) -> C:
        """Open the connection."""

    def _is_usable(self, connection: C) -> bool:  # noqa: ARG002 - unless a kind can tell
        """Return whether a connection that was idle can be used again."""
        return True

    def _delivery_error(self, error: BaseException) -> DeliveryError | None:  # noqa: ARG002
        """Return what an error of the client means; None where it is not one of the client's."""
        return None

    @contextmanager
    def _connection(self) -> Iterator[C]:
        """Lend the connection; half an exchange must not be left on it.

        Raises:
            DeliveryError: for an error of the client, while it connects or is used.
        """
        with self._lock:
            try:
                # By the wall clock: the monotonic one may stand still while a function is frozen.
                idle = abs(time.time() - self._used) > IDLE_SECONDS
                if self._open is not None and (idle or not self._is_usable(self._open)):
                    self._drop()
                if self._open is None:
                    self._open = self._connect()
                yield self._open
                self._used = time.time()
            except BaseException as error:
                self._drop()
                if reason := self._delivery_error(error):
                    raise reason from None
                raise

    def _drop(self) -> None:
        connection, self._open = self._open, None
        if connection is not None:
            connection.close()


class Mirror(Target):
    """A kind that can keep a row per object (`format = "namespace"`), which can be read back.

    These methods may be called in that format only. They create nothing: a missing table has no
    rows. While `stored_rows` is iterated, the target must not be used for anything else.
    """

    @property
    def keeps_rows(self) -> bool:
        return str(self.settings.format) == "namespace"

    @abc.abstractmethod
    def partitions(self, count: int) -> list[str]:
        """Return about `count` partitions, which can be read in parallel and cover all rows.

        Each is a text that another process gives to `stored_rows`. A row that is written
        meanwhile may be missed, or be in two of them.

        Raises:
            DeliveryError: the target cannot be asked.
        """

    @abc.abstractmethod
    def stored_rows(self, partition: str, prefix: str) -> Iterator[StoredRow]:
        """Yield the rows of a partition whose path begins with `prefix`, in the server's order.

        Raises:
            DeliveryError: the target cannot be asked, or stopped answering.
        """

    @abc.abstractmethod
    def merged_states(self, paths: Sequence[str]) -> dict[str, MergedState]:
        """Return what is known of each path now; those of which nothing is known are left out.

        Raises:
            DeliveryError: the target cannot be asked.
        """
