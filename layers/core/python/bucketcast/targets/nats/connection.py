"""A connection to a NATS server by nats-py, which is replaced after an error.

It corrects nats-py, which encrypts only if the server demands it, and would send token and events
in plain text to one that does not. Its `flush` sends the PING before the messages that were just
published, so that the PONG confirms nothing. It waits for answers after the connection has ended,
and it retries connecting by itself.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from nats import errors
from nats.aio.client import Client

from bucketcast.targets.nats.login import Nkey

NAME = "bucketcast"
"""The connection's name in the server's monitoring."""
PINGS = 2
"""The unanswered pings after which a connection counts as broken."""
NEVER = 86_400
"""Seconds: longer than any function runs."""

T = TypeVar("T")
HandleReply = Callable[[bytes, bytes, bytes], None]
"""Takes a reply's subject, data, and encoded headers, if any. It must not raise."""


def encode_publish(to: bytes, body: bytes, head: bytes = b"") -> bytes:
    """Return the command for a message to a subject, or to a subject and one for the reply.

    `head` has the encoded headers, or is empty.
    """
    if head:
        size = len(head) + len(body)
        return b"HPUB %b %d %d\r\n%b%b\r\n" % (to, len(head), size, head, body)
    return b"PUB %b %d\r\n%b\r\n" % (to, len(body), body)


class Connection(Client):
    """A client for the coroutines of one event loop; callers bound their time."""

    def __init__(self, *, encrypted: bool) -> None:
        super().__init__()
        self.encrypted = encrypted
        self.supports_headers = False
        self.state_changed = asyncio.Event()
        """Set by everything that may end a `wait_until`."""
        self.permission_error: errors.Error | None = None
        self._is_opening = True
        self._unwritten: list[bytes] = []
        self.put = self._unwritten.append
        """Buffer a command until `write_pending`."""
        self._reply_number = 0
        self._handle_reply: HandleReply | None = None

    async def open(
        self, address: str, *, ping_interval: float, nkey: Nkey | None = None, **options: Any
    ) -> None:
        """Connect and log in, with `nkey` if there is one; `options` are those of nats-py.

        Raises:
            OSError, nats.errors.Error: the connection cannot be opened.
        """
        if nkey is not None:
            self._auth_configured = True  # nats-py only sets it for its own ways to log in
            self._public_nkey = nkey.public_key
            options["signature_cb"] = nkey.sign
        await self.connect(
            f"nats://{address}",
            name=NAME,
            error_cb=self._handle_error,
            closed_cb=self._handle_close,
            allow_reconnect=False,
            connect_timeout=NEVER,
            ping_interval=ping_interval or NEVER,  # type: ignore[arg-type]  # it sleeps so long
            max_outstanding_pings=PINGS,
            pending_size=0,  # publish never waits by itself
            **options,
        )
        self._is_opening = False
        if not self.is_connected:  # the server closed it, or sent something else than PONG
            raise errors.UnexpectedEOF

    async def subscribe_to_replies(self, subject: str, handle: HandleReply) -> None:
        """Call `handle` for each message of a subject, without nats-py's queue and task for it."""
        self._handle_reply = handle
        self._reply_number = (await self.subscribe(subject))._id  # noqa: SLF001 - nats-py's

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition is true, which an answer of the server may make it.

        Raises:
            OSError, nats.errors.Error: the connection ended, or the user lacks a right.
        """
        while not condition():
            if self.permission_error:
                raise self.permission_error
            if self.is_closed:
                raise self.last_error or errors.ConnectionClosedError()
            self.state_changed.clear()
            await self.state_changed.wait()

    async def await_reply(self, request: Coroutine[Any, Any, T]) -> T:
        """Return the result of a nats-py call; raise, as `wait_until`, if the connection ends."""
        reply = asyncio.ensure_future(request)
        reply.add_done_callback(lambda _: self.state_changed.set())
        try:
            await self.wait_until(reply.done)
            return reply.result()
        finally:
            reply.cancel()

    async def write_pending(self) -> None:
        """Write the buffered commands to the socket.

        Raises:
            nats.errors.Error: the connection ended.
        """
        if self.is_closed:
            raise self.last_error or errors.ConnectionClosedError()
        if self._unwritten:
            await self._send_command(b"".join(self._unwritten))
            self._unwritten.clear()
        await self._flush_pending()
        while self.pending_data_size and not self.is_closed:  # noqa: ASYNC110 - for one iteration
            await asyncio.sleep(0)

    async def confirm_writes(self) -> None:
        """Wait until the server has processed all published messages; raise as `wait_until`."""
        await self.write_pending()
        await self.await_reply(self.flush(timeout=NEVER))
        if self.permission_error:  # which arrives before the PONG
            raise self.permission_error

    def abort(self) -> None:
        """Close the socket at once, without sending the rest."""
        for name in ("_io_writer", "_bare_io_writer"):  # nats-py's `close` waits for the server
            writer = getattr(self._transport, name, None)
            if writer is not None:
                writer.transport.abort()

    async def _handle_error(self, error: Exception) -> None:
        """Record an error that nats-py reports outside of its calls."""
        if isinstance(error, errors.Error) and "permissions violation" in str(error):
            self.permission_error = error
            self.state_changed.set()
        elif self._is_opening:
            raise error  # which ends nats-py's retries

    async def _handle_close(self) -> None:
        self.state_changed.set()

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        if sid == self._reply_number and self._handle_reply:
            self._handle_reply(subject, data, headers)
        else:
            await super()._process_msg(sid, subject, reply, data, headers)

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:  # noqa: FBT001, FBT002 - nats-py's
        if initial_connection:
            self.supports_headers = bool(info.get("headers"))
            if self.encrypted and not info.get("tls_required"):
                if not info.get("tls_available"):
                    raise errors.SecureConnWantedError
                info["tls_required"] = True
        await super()._process_info(info, initial_connection)
