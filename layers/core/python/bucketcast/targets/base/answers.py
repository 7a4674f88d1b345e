"""What becomes of an event, answer by answer: the form of each kind's module `answers`.

A kind's `ANSWERS` lists every code that its server, protocol or client library has, with a verdict.
The code that translates answers reads it, the kind's page prints it, and a test compares it with
the library's own list.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    Throttled,
    TimedOut,
)

_range = re.compile(r"(-?\d+)-(-?\d+)").fullmatch


class TooLargeError(Retryable):
    """It is larger than the server takes at its settings: a batch is halved, an event is alone."""

    alone = may_be_settings = True
    halves = True


class Refusal(Exception):
    """What a server answers to a client of our own: a text, with its `codes` in the list."""

    def __init__(self, text: str, *codes: str) -> None:
        super().__init__(text)
        self.codes = codes


class Verdict(Enum):
    """What an answer says: what becomes of the event, for a reader, and its error."""

    EVENT = "its own fault: dead-lettered", Rejected
    HALVE = "too large: halved, waits alone", TooLargeError
    SETTINGS = "waits for other settings", Retryable
    ROW = "waits for repair, alone", Retryable
    LOGIN = "waits for login or right", NotAuthorized
    SLOWER = "waits as asked", Throttled
    AWAY = "nobody there: all wait", NotConnected
    SILENT = "no answer: sent again", TimedOut
    LOCKED = "waits for a lock", TimedOut
    AGAIN = "sent again", Retryable

    def __init__(self, fate: str, error: type[DeliveryError]) -> None:
        self.fate = fate
        self.error = error

    def __call__(self, codes: str, hint: str = "", *words: str) -> "Answer":
        """Return the answers with this verdict."""
        return Answer(self, codes, hint, words)


class Answer(NamedTuple):
    """Answers with one verdict: those with one of the `codes`, and one of the `words` if given.

    `codes` are separated by spaces; `1-3` are three. Words are those that a server or library
    writes with these codes: a text may also hold a user's. `hint` says what to do, with keys of the
    settings in braces for their values.
    """

    verdict: Verdict
    codes: str
    hint: str
    words: Sequence[str]

    @property
    def shown(self) -> str:
        """The codes, and the words in brackets, for the kind's page."""
        codes = ", ".join(f"`{code}`" for code in self.codes.split())
        words = ", ".join(word.strip() for word in self.words)
        return f"{codes} ({words})" if words else codes


REFUSED_CERTIFICATE = (" alert bad cert", " alert cert", " alert handshake", " alert unknown ca")
"""The words of the TLS alerts of a server that wants another client's certificate."""


def of_connections(server: str, address: str, suits: str, wrapped: str = "") -> tuple[Answer, ...]:
    """Return what every connection can meet on its way to the server that the key `address` names.

    `suits` asks if the port and the keys for encryption suit each other. `wrapped` are the codes
    that the library gives the errors of its socket.
    """
    tls = f"SSLError ConnectionError {wrapped}"
    trust = (
        f"has {server}'s certificate expired? Else set cert_authority to the authority that signed "
        f"it, and {address} to a name in it"
    )
    mutual = f"{server} wants a client_cert, with client_key, of an authority that it trusts"
    reach = f"is {address} right, does its network let this function in, and {suits}"
    ended = f"{suits} Does {server} want a client certificate?"
    return (
        Verdict.AWAY(tls, trust, "CERTIFICATE_VERIFY_FAILED"),
        Verdict.LOGIN(tls, mutual, *REFUSED_CERTIFICATE),
        Verdict.AWAY(tls, suits, "WRONG_VERSION_NUMBER"),
        Verdict.SILENT("TimeoutError", reach),
        Verdict.AWAY("ConnectionRefusedError", f"is {address} right, and does it run?"),
        Verdict.AWAY("ConnectionError SSLError", ended),
        Verdict.AWAY("OSError"),
    )


def of_http(address: str) -> tuple[Answer, ...]:
    """Return what a proxy answers before the HTTP server that the key `address` names."""
    certificate = "it wants a client certificate that it trusts: see client_cert, client_key"
    plain = ("plain HTTP request was sent", "HTTP request to an HTTPS")
    return (
        Verdict.LOGIN("400", certificate, "SSL certificate error", "No required SSL"),
        Verdict.LOGIN("495 496", certificate),
        Verdict.SETTINGS("400", f"set {address} to https", *plain),
    )


def codes_of(error: BaseException) -> Sequence[str]:
    """Return the codes of a refusal; for others, the names of their class and of those above it."""
    if isinstance(error, Refusal):
        return error.codes
    return [each.__name__ for each in type(error).__mro__[:-3]]


def describe(error: BaseException) -> tuple[str, Sequence[str]]:
    """Return the text of an error, and its codes."""
    text = "no answer in time" if isinstance(error, TimeoutError) else str(error)
    return " ".join(text.split()) or type(error).__name__, codes_of(error)


class Answers:
    """The list of a kind: its `own` answers, and those of its connections, as it is opened.

    The first answer that fits counts. `describe` returns the text of an error of the client, and
    its codes in the list.
    """

    def __init__(
        self,
        *own: Answer,
        connections: Sequence[Answer] = (),
        describe: Callable[[BaseException], tuple[str, Sequence[str]]] = describe,
    ) -> None:
        self.own = own
        self._connections = connections
        self._describe = describe
        self._rows = [(each, frozenset(_expand(each.codes))) for each in (*own, *connections)]

    def find(self, text: str, codes: Collection[str]) -> Answer | None:
        """Return the answer with this text and one of these codes; None if it is on no list."""
        for answer, listed in self._rows:
            written = not answer.words or any(word in text for word in answer.words)
            if written and not listed.isdisjoint(codes):
                return answer
        return None

    def of(self, error: BaseException, where: str, **context: Any) -> DeliveryError:
        """Return the delivery error of an error of the client; `context` is that of `error`."""
        text, codes = self._describe(error)
        return self.error(where, text, codes, **context)

    def error(
        self,
        where: str,
        text: str,
        codes: Collection[str],
        *,
        connecting: bool = False,
        login_hint: str = "",
        **values: Any,
    ) -> DeliveryError:
        """Return the delivery error of an answer; `values` are those of the hint's keys.

        `login_hint` stands in place of all hints about the login.
        While `connecting` an answer is about all events: nobody is there for them.
        """
        answer = self.find(text, codes)
        if answer is None:
            error = (NotConnected if connecting else Retryable)(f"{where}: {text}")
            error.unlisted = " ".join(codes) or text
            return error
        kind, hint = answer.verdict.error, answer.hint.format(**values)
        if answer.verdict is Verdict.LOGIN:
            hint = login_hint or hint
        if connecting and not issubclass(kind, NotConnected | Throttled):
            kind = NotConnected
        if not connecting and answer in self._connections:
            hint = ""
        found = kind.hinted(f"{where}: {text}", hint)
        if not connecting:
            found.alone |= answer.verdict in (Verdict.EVENT, Verdict.ROW, Verdict.LOCKED)
            found.may_be_settings |= answer.verdict is Verdict.ROW
        return found


def _expand(codes: str) -> Iterator[str]:
    for code in codes.split():
        if ends := _range(code):
            yield from map(str, range(int(ends[1]), int(ends[2]) + 1))
        else:
            yield code
