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
from bucketcast.settings.options import unused_notes
from bucketcast.targets.base import options
from bucketcast.targets.base.answers import Answers, Refusal
from bucketcast.targets.base.endpoint import Endpoint as Endpoint
from bucketcast.targets.base.options import ValidationError

CONNECT_SECONDS = 5.0
"""Limit for connecting, including TLS and login where the client library allows it."""
IDLE_SECONDS = 300.0
"""Maximum age of an unused connection. AWS's NAT gateways and load balancers drop one after 350 s,
which a frozen function does not notice."""
Failures = Mapping[int, DeliveryError]
"""The events that were not delivered, by index in the batch, with the reason."""


class Connection(Protocol):
    """A connection of a client library, or of a client of its own."""

    def is_usable(self) -> bool:
        """Return False if it has ended, or otherwise cannot be used again."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Connection)


class Target(abc.ABC):
    """One configured target."""

    arn_type: ClassVar[str]
    """The last field of its ARN, as MinIO names the kind."""
    client: ClassVar[str]
    """The client library's module, imported while the function starts."""
    Settings: ClassVar[type[Any]]
    """The dataclass that declares its options."""
    batch_size: ClassVar[int] = 1000
    """Maximum number of events of one `send`."""
    timeout: ClassVar[float] = 30.0
    """Seconds to wait for an answer of the server."""
    attributes_prefix: ClassVar[str | None] = None
    """Prefix of a CloudEvent's attributes in headers; None if the product has no headers."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.shape = shapes.shape(settings.shape, settings.opaque_data)

    @classmethod
    def preload(cls) -> None:
        """Import the client library, while the function starts."""
        import_module(cls.client)

    @classmethod
    def check(cls, settings: Any) -> list[ValidationError]:
        """Return the errors in combinations of options."""
        read_by_ingest = options.reference_errors(settings, "queue_limit", "facts")
        return [*settings.validation_errors(), *read_by_ingest, *cls._shape_errors(settings)]

    @classmethod
    def _shape_errors(cls, settings: Any) -> Iterator[ValidationError]:
        shape = settings.shape
        if getattr(settings, "format", "") == "namespace" and shape != "minio":
            allowed = "minio: a mirror compares its records with new events; or format = access"
            yield "shape", f"found '{shape}' beside format = namespace", f"allowed is {allowed}"
        if shape == "cloudevents-binary" and cls.attributes_prefix is None:
            allowed = "cloudevents, which needs none"
            yield "shape", f"found '{shape}', which needs headers", f"allowed is {allowed}"
        if settings.opaque_data and shape != "ceph":
            yield "opaque_data", f"found beside shape = {shape}", "allowed is shape = ceph"

    @classmethod
    def notes(cls, settings: Any) -> list[str]:
        """Return notes for the user about valid settings."""
        return [*unused_notes(settings), *settings.notes()]

    @property
    def max_send_seconds(self) -> float:
        """Maximum duration of one `send`, in seconds.

        A function with less time left starts no batch: an interrupted batch would be sent again as
        a whole.
        """
        return 40.0

    @property
    def first_alone(self) -> bool:
        """True if, after some seconds of silence, one event is confirmed before others are sent.

        A server that hangs may accept events without answering, and would then get all of them
        twice. If it begins to hang within those seconds, the events of one batch come twice.
        """
        return True

    def headers(self, event: Event) -> dict[str, str]:
        """Return the headers of an event; none if the product does not support them."""
        attributes, prefix = self.shape.attributes, self.attributes_prefix
        if attributes is None or prefix is None:
            return {}
        return {prefix + name: value for name, value in attributes(event).items()}

    def body(self, event: Event) -> bytes:
        """Return the bytes sent for an event; for a kind with formats, the value it writes."""
        rows = hasattr(self.settings, "format")
        return self.shape.value(event) if rows else self.shape.message(event)

    @property
    @abc.abstractmethod
    def where(self) -> str:
        """The destination, for display, without secrets."""

    @abc.abstractmethod
    def send(self, events: Sequence[Event]) -> Failures:
        """Deliver a batch and return its failures; all other events were delivered.

        Raises:
            DeliveryError: the whole batch failed.
        """

    def endpoints(self) -> Sequence[Endpoint]:
        """Return the addresses of its servers, to be checked one by one; none if unknown.

        Raises:
            DeliveryError: the settings, or a certificate in them, cannot be used.
        """
        return ()

    def login(self) -> None:
        """Connect and log in, without checking the table or topic.

        Raises:
            DeliveryError: the server cannot be reached, or refuses the login.
        """
        self.probe()

    @abc.abstractmethod
    def probe(self) -> None:
        """Check that events can be delivered now, without side effects.

        Raises:
            DeliveryError: they cannot be delivered.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Close the connection, if any; the next `send` opens another."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Connected(Target, Generic[C]):
    """A target with one connection: opened on first use, kept, closed on any error.

    `_lock` is held while the connection is used, so threads may share the target.
    """

    answers: ClassVar[Answers]

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self._lock = RLock()
        self._open: C | None = None
        self._last_used = 0.0

    def login(self) -> None:
        with self._connection():
            pass

    def close(self) -> None:
        with self._lock:
            self._drop()

    @abc.abstractmethod
    def _connect(self) -> C:
        """Open the connection."""

    def _is_usable(self, connection: C) -> bool:
        return connection.is_usable()

    def _raised(self) -> tuple[type[BaseException], ...]:
        """Return the errors of the client, or of its library."""
        return OSError, Refusal

    def _hints(self) -> dict[str, str]:
        """Return the values of the keys in hints, and the `login_hint` that replaces some."""
        return {}

    def _answer(self, error: BaseException, *, ended: bool = False) -> DeliveryError:
        """Translate an error of the client; one that `ended` the connection is about all events."""
        connecting = ended or self._open is None
        return self.answers.of(error, self.where, connecting=connecting, **self._hints())

    def _delivery_error(self, error: BaseException) -> DeliveryError | None:
        """Translate an error of the client, or return None for any other error."""
        return self._answer(error) if isinstance(error, self._raised()) else None

    @contextmanager
    def _connection(self) -> Iterator[C]:
        """Provide the connection, which must not be left in the middle of an exchange.

        Raises:
            DeliveryError: the client failed while connecting or while the connection was used.
        """
        with self._lock:
            try:
                # The wall clock: the monotonic one may stand still while a function is frozen.
                idle = abs(time.time() - self._last_used) > IDLE_SECONDS
                if self._open is not None and (idle or not self._is_usable(self._open)):
                    self._drop()
                if self._open is None:
                    self._open = self._connect()
                yield self._open
                self._last_used = time.time()
            except BaseException as error:
                reason = self._delivery_error(error)
                self._drop()
                if reason:
                    raise reason from None
                raise

    def _drop(self) -> None:
        connection, self._open = self._open, None
        if connection is not None:
            connection.close()
