"""A login at the broker with one channel, whose messages the broker confirms.

The steps are those of AMQP 0-9-1 and of RabbitMQ's extensions to it (confirms, blocked). A channel
that the broker closes takes the session with it: the next one begins with a new connection.
"""

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from bucketcast import __version__
from bucketcast.targets.amqp.address import Address
from bucketcast.targets.amqp.batch import Confirms
from bucketcast.targets.amqp.protocol import CHANNEL, FrameReader, Frames, Message, method
from bucketcast.targets.amqp.settings import AmqpSettings
from bucketcast.targets.base import CONNECT_SECONDS, sockets, tls

HEARTBEAT = 300
"""Seconds, as `IDLE_SECONDS`. A function between two invocations is frozen and sends nothing; the
broker forgets it after twice as long."""
GOODBYE_SECONDS = 1.0
BYTES_A_WRITE = 32_768
"""The broker works on one part while the next is made."""
_FRAME_MAX = 131_072
_ABILITIES = ("authentication_failure_close", "basic.nack", "connection.blocked")


class ClosedError(Exception):
    """The broker ended the channel or, if `whole`, the connection; it says why."""

    def __init__(self, said: Any) -> None:
        super().__init__(f"{said.reply_text} ({said.reply_code})")
        self.whole = said.NAME == "Connection.Close"


class BlockedError(Exception):
    """The broker takes no messages for now; the session can be used later."""


class Client:
    """Raises `ClosedError` and `OSError`, after which it can only be closed."""

    def __init__(self, address: Address, settings: AmqpSettings) -> None:
        self._tag = 0
        self._blocked = ""
        self._returned = ""
        self._confirms = Confirms("", 0)
        self._usable = True
        context = tls.context(settings) if address.encrypted else None
        deadline = time.monotonic() + CONNECT_SECONDS
        self._socket = sockets.connect(
            address.host, address.port, deadline, context, "the connection was closed by the server"
        )
        self._reader = FrameReader(self._socket)
        try:
            self._frames = Frames(settings, self._log_in(address))
        except BaseException:
            self._socket.close()
            raise

    def still_open(self) -> bool:
        """Return whether it can be used, after a look at what the broker said meanwhile."""
        try:
            self._listen()
        except (OSError, ClosedError):
            return False
        return True

    def publish(
        self,
        messages: Iterable[Message],
        confirms: Confirms,
        timeout: float,
        *,
        wait: bool = True,
    ) -> None:
        """Send all, and wait until each is confirmed or refused; for so many seconds at most.

        Without `wait` all count as confirmed once they were sent.

        Raises:
            BlockedError: the broker takes no messages for now.
        """
        self._confirms = confirms
        until = time.monotonic() + timeout
        part, tag = self._frames.declaration(), self._tag
        for message in messages:
            tag += 1
            confirms.sent(tag, message.position, message.properties.message_id)
            part += self._frames.message(message)
            if len(part) > BYTES_A_WRITE:
                self._write(part, until)
                # The broker counts what reached it: not a part that was held back.
                part, self._tag = b"", tag
                self._listen()
        self._write(part, until)
        self._tag = tag
        if not wait:
            confirms.forget()
        while confirms:
            self._take(self._frame(until))
            self._not_blocked()

    def declare(self, *, passive: bool) -> None:
        """Have the exchange made, or if `passive` only looked for, and wait until it is.

        Raises:
            BlockedError: the broker takes no messages for now.
        """
        self._not_blocked()
        until = time.monotonic() + CONNECT_SECONDS
        self._send(self._frames.exchange(passive=passive), until)
        self._expect("Exchange.DeclareOk", until)

    def close(self) -> None:
        """Take leave of a broker that may still listen, and hang up."""
        from pika import spec  # noqa: PLC0415 - only its own function carries it

        if self._usable:
            until = time.monotonic() + GOODBYE_SECONDS
            with suppress(OSError, ClosedError):
                self._tell(spec.Connection.Close(200, "Goodbye", 0, 0), until)
                self._expect("Connection.CloseOk", until)
        self._socket.close()

    def _log_in(self, address: Address) -> int:
        """Open connection and channel; the largest frame that the broker takes."""
        from pika import spec  # noqa: PLC0415
        from pika.frame import ProtocolHeader  # noqa: PLC0415

        until = time.monotonic() + CONNECT_SECONDS
        self._send(ProtocolHeader().marshal(), until)
        self._expect("Connection.Start", until)
        about_us = {
            "product": "Bucketcast",
            "version": __version__,
            "connection_name": "bucketcast",
            "capabilities": dict.fromkeys(_ABILITIES, True),
        }
        mechanism, login = address.login()
        self._tell(spec.Connection.StartOk(about_us, mechanism, login, "en_US"), until)
        tune = self._expect("Connection.Tune", until)
        frame_max = min(tune.frame_max or _FRAME_MAX, _FRAME_MAX)
        self._tell(spec.Connection.TuneOk(tune.channel_max, frame_max, HEARTBEAT), until)
        self._tell(spec.Connection.Open(address.vhost), until)
        self._expect("Connection.OpenOk", until)
        self._tell(spec.Channel.Open(), until, CHANNEL)
        self._tell(spec.Confirm.Select(), until, CHANNEL)
        self._expect("Confirm.SelectOk", until)
        return frame_max

    def _write(self, part: bytes, until: float) -> None:
        self._not_blocked()
        self._send(part, until)

    def _not_blocked(self) -> None:
        if self._blocked:
            raise BlockedError(f"the broker takes no messages: {self._blocked}")

    def _tell(self, said: Any, until: float, channel: int = 0) -> None:
        self._send(method(said, channel), until)

    def _send(self, data: bytes, until: float) -> None:
        try:
            self._socket.send(data, until)
        except OSError:
            self._usable = False
            raise

    def _frame(self, until: float | None = None) -> Any:
        try:
            return self._reader.next(until)
        except OSError:
            self._usable = False
            raise

    def _expect(self, name: str, until: float) -> Any:
        """Wait for this answer."""
        while True:
            said = self._take(self._frame(until))
            if getattr(said, "NAME", "") == name:
                return said

    def _listen(self) -> None:
        """Take what is here already."""
        while (frame := self._frame()) is not None:
            self._take(frame)

    def _take(self, frame: Any) -> Any:
        """Note what a frame says; answer its method, if it has one."""
        if properties := getattr(frame, "properties", None):  # of a message that is returned
            self._confirms.returned(properties.message_id, self._returned)
        if (said := getattr(frame, "method", None)) is not None:
            self._note(said)
        return said

    def _note(self, said: Any) -> None:
        match said.NAME:
            case "Basic.Ack" | "Basic.Nack" as name:
                taken, tag = name == "Basic.Ack", said.delivery_tag
                self._confirms.settled(tag, taken=taken, and_before=said.multiple)
            case "Basic.Return":
                self._returned = f"{said.reply_text} ({said.reply_code})"
            case "Connection.Blocked":
                self._blocked = str(said.reason)
            case "Connection.Unblocked":
                self._blocked = ""
            case "Channel.Close" | "Connection.Close":
                raise self._closed(said)

    def _closed(self, said: Any) -> ClosedError:
        """Confirm that the broker ended it, as it waits for that."""
        from pika import spec  # noqa: PLC0415

        error = ClosedError(said)
        answer = spec.Connection.CloseOk() if error.whole else spec.Channel.CloseOk()
        with suppress(OSError):
            until = time.monotonic() + GOODBYE_SECONDS
            self._tell(answer, until, 0 if error.whole else CHANNEL)
        if error.whole:
            self._usable = False
        return error
