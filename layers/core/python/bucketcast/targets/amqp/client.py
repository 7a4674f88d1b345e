"""A connection to the broker with one channel, whose messages the broker confirms.

The steps are those of AMQP 0-9-1 and of RabbitMQ's extensions to it (confirms, blocked). When the
broker closes the channel, the connection is replaced too.
"""

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from bucketcast import __version__
from bucketcast.targets.amqp import protocol
from bucketcast.targets.amqp.address import Address
from bucketcast.targets.amqp.batch import Confirms
from bucketcast.targets.amqp.settings import AmqpSettings
from bucketcast.targets.base import CONNECT_SECONDS, sockets, tls
from bucketcast.targets.base.answers import Refusal

HEARTBEAT = 300
"""Seconds, as `IDLE_SECONDS`. A function between two invocations is frozen and sends nothing; the
broker disconnects it after twice as long."""
CLOSE_SECONDS = 1.0
BYTES_A_WRITE = 32_768
"""The broker works on one part while the next is encoded."""
_FRAME_MAX = 131_072
_CAPABILITIES = ("authentication_failure_close", "basic.nack", "connection.blocked")


class ClosedError(Refusal):
    """The broker closed the connection, or the `channel_only`; the message is its reason."""

    def __init__(self, method: Any) -> None:
        super().__init__(f"{method.reply_text} ({method.reply_code})", str(method.reply_code))
        self.channel_only = method.NAME != "Connection.Close"


class BlockedError(Refusal):
    """The broker accepts no messages for now; the connection can be used later."""


class Client:
    """A connection with a channel; after a `ClosedError` or `OSError` it can only be closed."""

    def __init__(self, address: Address, settings: AmqpSettings) -> None:
        self._tag = 0
        self._blocked = ""
        self._returned = 0, ""
        self._confirms = Confirms("", 0)
        self._usable = True
        context = tls.context(settings) if address.encrypted else None
        deadline = time.monotonic() + CONNECT_SECONDS
        self._socket = sockets.connect(address.host, address.port, deadline, context)
        self._reader = protocol.FrameReader(self._socket)
        try:
            self._encoder = protocol.FrameEncoder(settings, self._log_in(address))
        except BaseException:
            self._socket.close()
            raise

    def is_usable(self) -> bool:
        """Return False if the broker has closed the connection."""
        try:
            self._handle_received()
        except (OSError, ClosedError):
            return False
        return True

    def publish(
        self,
        messages: Iterable[protocol.Message],
        confirms: Confirms,
        timeout: float,
        *,
        wait: bool = True,
    ) -> None:
        """Send all messages, and wait at most `timeout` seconds until each is settled.

        Without `wait` all count as confirmed once they were sent.

        Raises:
            BlockedError: the broker accepts no messages for now.
        """
        self._confirms = confirms
        deadline = time.monotonic() + timeout
        part, size, tag = [self._encoder.encode_batch_start()], 0, self._tag
        for message in messages:
            tag += 1
            confirms.add(tag, message.position, message.id)
            part.append(self._encoder.encode_message(message))
            size += len(part[-1])
            if size > BYTES_A_WRITE:
                self._send_part(b"".join(part), deadline)
                # The broker counts what reached it: not a part that was never sent.
                part, size, self._tag = [], 0, tag
                self._handle_received()
        self._send_part(b"".join(part), deadline)
        self._tag = tag
        if not wait:
            confirms.ignore_pending()
        while confirms:
            self._handle(self._read(deadline))
            self._raise_if_blocked()

    def declare(self, *, passive: bool) -> None:
        """Declare the exchange, or with `passive` check that it exists; wait for the answer.

        Raises:
            BlockedError: the broker accepts no messages for now.
        """
        self._raise_if_blocked()
        deadline = time.monotonic() + CONNECT_SECONDS
        self._send(self._encoder.encode_declare(passive=passive), deadline)
        self._expect("Exchange.DeclareOk", deadline)

    def close(self) -> None:
        """Close the connection, by AMQP's handshake if it is still usable."""
        from pika import spec  # noqa: PLC0415 - only its own function carries it

        if self._usable:
            deadline = time.monotonic() + CLOSE_SECONDS
            with suppress(OSError, ClosedError):
                self._send_method(spec.Connection.Close(200, "Goodbye", 0, 0), deadline)
                self._expect("Connection.CloseOk", deadline)
        self._socket.close()

    def _log_in(self, address: Address) -> int:
        """Open the connection and the channel; return the agreed maximum size of a frame."""
        from pika import spec  # noqa: PLC0415
        from pika.frame import ProtocolHeader  # noqa: PLC0415

        deadline = time.monotonic() + CONNECT_SECONDS
        self._send(ProtocolHeader().marshal(), deadline)
        self._expect("Connection.Start", deadline)
        client_properties = {
            "product": "Bucketcast",
            "version": __version__,
            "connection_name": "bucketcast",
            "capabilities": dict.fromkeys(_CAPABILITIES, True),
        }
        start = spec.Connection.StartOk(client_properties, *address.sasl_login, "en_US")
        self._send_method(start, deadline)
        tune = self._expect("Connection.Tune", deadline)
        frame_max = min(tune.frame_max or _FRAME_MAX, _FRAME_MAX)
        self._send_method(spec.Connection.TuneOk(tune.channel_max, frame_max, HEARTBEAT), deadline)
        self._send_method(spec.Connection.Open(address.vhost), deadline)
        self._expect("Connection.OpenOk", deadline)
        self._send_method(spec.Channel.Open(), deadline, protocol.CHANNEL)
        self._send_method(spec.Confirm.Select(), deadline, protocol.CHANNEL)
        self._expect("Confirm.SelectOk", deadline)
        return frame_max

    def _send_part(self, part: bytes, deadline: float) -> None:
        self._raise_if_blocked()
        self._send(part, deadline)

    def _raise_if_blocked(self) -> None:
        if self._blocked:
            raise BlockedError(f"the broker accepts no messages: {self._blocked}", "blocked")

    def _send_method(self, method: Any, deadline: float, channel: int = 0) -> None:
        self._send(protocol.encode_method(method, channel), deadline)

    def _send(self, data: bytes, deadline: float) -> None:
        try:
            self._socket.send(data, deadline)
        except OSError:
            self._usable = False
            self._handle_received()  # what came before it has confirms, and may say why
            raise

    def _read(self, deadline: float | None = None) -> Any:
        try:
            return self._reader.read(deadline)
        except OSError:
            self._usable = False
            raise

    def _expect(self, name: str, deadline: float) -> Any:
        """Handle frames up to the method of this name, and return the method."""
        while True:
            method = self._handle(self._read(deadline))
            if getattr(method, "NAME", "") == name:
                return method

    def _handle_received(self) -> None:
        """Handle the frames that have arrived; do not wait for more."""
        while (frame := self._read()) is not None:
            self._handle(frame)

    def _handle(self, frame: Any) -> Any:
        """Handle a frame; return its method, if it has one."""
        if properties := getattr(frame, "properties", None):  # of a message that is returned
            self._confirms.fail_returned(properties.message_id, *self._returned)
        if (method := getattr(frame, "method", None)) is not None:
            self._handle_method(method)
        return method

    def _handle_method(self, method: Any) -> None:
        match method.NAME:
            case "Basic.Ack" | "Basic.Nack" as name:
                confirmed, tag = name == "Basic.Ack", method.delivery_tag
                self._confirms.settle_tag(tag, confirmed=confirmed, multiple=method.multiple)
            case "Basic.Return":
                self._returned = method.reply_code, f"{method.reply_text} ({method.reply_code})"
            case "Connection.Blocked":
                self._blocked = str(method.reason)
            case "Connection.Unblocked":
                self._blocked = ""
            case "Channel.Close" | "Connection.Close":
                raise self._confirm_close(method)

    def _confirm_close(self, method: Any) -> ClosedError:
        """Send the confirmation that the broker waits for; return the error to raise."""
        from pika import spec  # noqa: PLC0415

        error = ClosedError(method)
        deadline = time.monotonic() + CLOSE_SECONDS
        with suppress(OSError):
            if error.channel_only:
                self._send_method(spec.Channel.CloseOk(), deadline, protocol.CHANNEL)
            else:
                self._send_method(spec.Connection.CloseOk(), deadline)
        if not error.channel_only:
            self._usable = False
        return error
