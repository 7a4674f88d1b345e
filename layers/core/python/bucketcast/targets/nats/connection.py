"""One connection to a NATS server by nats-py, which is replaced and never reused after an error.

What nats-py leaves open is closed here. It encrypts only where the server demands it, and would
give token and events in plain text to one that does not. Its `flush` sends the PING before what
was published just then, so that the PONG confirms nothing. It waits for answers that cannot come
any more, as the connection has ended. And it goes on trying to connect by itself.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from nats import errors
from nats.aio.client import Client

from bucketcast.targets.nats.login import Nkey

NAME = "bucketcast"
"""By which the server's monitoring knows the connection."""
PINGS = 2
"""So many without an answer, and the connection counts as broken."""
NEVER = 86_400
"""Seconds: longer than any function lives."""

T = TypeVar("T")


class Connection(Client):
    """The client, for the coroutines of one event loop; who waits bounds it in time."""

    def __init__(self, *, encrypted: bool) -> None:
        super().__init__()
        self.encrypted = encrypted
        self.takes_headers = False
        self.heard = asyncio.Event()
        """Set by whatever may end a wait in `until`."""
        self.forbidden: errors.Error | None = None
        """What the server said that the user may not do."""
        self._trying = True

    async def open(
        self, address: str, *, ping_interval: float, nkey: Nkey | None = None, **options: Any
    ) -> None:
        """Connect and log in, with `nkey` if there is one; `options` are those of nats-py.

        Raises:
            OSError, nats.errors.Error: there is no connection.
        """
        if nkey is not None:
            self._auth_configured = True  # nats-py sees it of its own ways only
            self._public_nkey = nkey.public
            options["signature_cb"] = nkey.sign
        await self.connect(
            f"nats://{address}",
            name=NAME,
            error_cb=self._failed,
            closed_cb=self._ended,
            allow_reconnect=False,
            connect_timeout=NEVER,
            ping_interval=ping_interval or NEVER,  # type: ignore[arg-type]  # it sleeps so long
            max_outstanding_pings=PINGS,
            pending_size=0,  # publish never waits by itself
            **options,
        )
        self._trying = False
        if not self.is_connected:  # the server ended it, or said something else than PONG
            raise errors.UnexpectedEOF

    async def put(self, subject: str, head: bytes, body: bytes, reply: str = "") -> None:
        """Publish, in a fraction of the time that nats-py's own `publish` takes.

        `head` is of the form that NATS prescribes for headers, or empty. Nothing is waited for; it
        is on its way after `written`.

        Raises:
            nats.errors.Error: the connection ended.
        """
        if self.is_closed:
            raise self.last_error or errors.ConnectionClosedError()
        to = f"{subject} {reply}" if reply else subject
        if head:
            line = f"HPUB {to} {len(head)} {len(head) + len(body)}\r\n".encode()
        else:
            line = f"PUB {to} {len(body)}\r\n".encode()
        await self._send_command(b"%b%b%b\r\n" % (line, head, body))

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until that is true, for what the server says may make it so.

        Raises:
            OSError, nats.errors.Error: the connection ended, or the server forbade something.
        """
        while not true():
            if self.forbidden:
                raise self.forbidden
            if self.is_closed:
                raise self.last_error or errors.ConnectionClosedError()
            self.heard.clear()
            await self.heard.wait()

    async def answer(self, request: Coroutine[Any, Any, T]) -> T:
        """Return the result of a nats-py call, which alone would outwait a closed connection."""
        answer = asyncio.ensure_future(request)
        answer.add_done_callback(lambda _: self.heard.set())
        try:
            await self.until(answer.done)
            return answer.result()
        finally:
            answer.cancel()

    async def written(self) -> None:
        """Let the client write out what was published."""
        await self._flush_pending()
        while self.pending_data_size and not self.is_closed:  # noqa: ASYNC110 - for one turn
            await asyncio.sleep(0)

    async def confirmed(self) -> None:
        """Wait until the server has dealt with all that was published; raises as `until`."""
        await self.written()
        await self.answer(self.flush(timeout=NEVER))
        if self.forbidden:  # which is said before the PONG
            raise self.forbidden

    def abort(self) -> None:
        """Let go of the socket at once, whatever is still to be sent."""
        for name in ("_io_writer", "_bare_io_writer"):  # its own ways wait for the server
            writer = getattr(self._transport, name, None)
            if writer is not None:
                writer.transport.abort()

    async def _failed(self, error: Exception) -> None:
        """Record an error that nats-py reports outside of its calls."""
        if isinstance(error, errors.Error) and "permissions violation" in str(error):
            self.forbidden = error
            self.heard.set()
        elif self._trying:
            raise error  # which ends its tries

    async def _ended(self) -> None:
        self.heard.set()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:  # noqa: FBT001, FBT002 - nats-py's
        if initial_connection:
            self.takes_headers = bool(info.get("headers"))
            if self.encrypted and not info.get("tls_required"):
                if not info.get("tls_available"):
                    raise errors.SecureConnWantedError
                info["tls_required"] = True
        await super()._process_info(info, initial_connection)
