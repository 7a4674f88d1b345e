"""Options: declared once, as typed fields of a dataclass; all else comes from there.

A declaration::

    @dataclass(frozen=True, kw_only=True)
    class Settings(Common):
        endpoint: Url = option("where events are posted", example="https://example.org/hook")
        timeout: Duration = option("how long one request may take", default="10s")

The field's type says what text is allowed (`TYPES`), and `limits` or a `parse` of its own narrow it
down. `default` is text too, as a user would write it, and an option without one is required. Any
option may hold `secret:NAME`, a reference that is resolved where the value is used.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import (
    Any,
    Literal,
    NamedTuple,
    NewType,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)
from urllib.parse import urlsplit

from bucketcast.errors import ConfigError, ConfigErrors, did_you_mean

REFERENCE = "secret:"

Address = NewType("Address", str)
Csv = NewType("Csv", tuple)  # type: ignore[type-arg]  # of str
Duration = NewType("Duration", float)
OnOff = NewType("OnOff", bool)
Pem = NewType("Pem", str)
Seconds = NewType("Seconds", float)
Url = NewType("Url", str)
WholeSeconds = NewType("WholeSeconds", int)
Parse = Callable[[str], Any]
"""Returns the value of a text, or raises ValueError with what is allowed."""
T = TypeVar("T")


class Secret:
    """Text that must not be shown: only `reveal()` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "***" if self._text else "''"


class LoginUrl(Secret):
    """A URL that is secret only if it contains a login."""


class SecretPem(Secret):
    """A private key in PEM, as text or as the path of a file."""


class SecretSeed(Secret):
    """The seed of a user's NKEY, as text or as the path of a file."""


def on_off(text: str) -> OnOff:
    words = {"on": True, "true": True, "off": False, "false": False}
    if text.lower() not in words:
        raise ValueError("on or off")
    return OnOff(words[text.lower()])


def integer(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ValueError("a whole number, 0 or more")
    return int(text)


def positive(text: str) -> int | None:
    """Return a number, or None for 0: no limit."""
    return integer(text) or None


_LAST_PORT = 65_535
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration(text: str) -> Duration:
    """Parse a Go duration such as `10s`, `1m30s` or `500ms` into seconds."""
    if text == "0":
        return Duration(0.0)
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)", text)
    if not parts or "".join(map("".join, parts)) != text:
        raise ValueError("a duration with its unit, such as 10s, 1m30s or 500ms")
    return Duration(sum(float(number) * _UNITS[unit] for number, unit in parts))


def whole_seconds(text: str) -> WholeSeconds:
    """Return the seconds of a duration; AWS has no fractions of them in most places."""
    found = duration(text)
    if found % 1:
        raise ValueError("whole seconds, such as 10s or 1m30s")
    return WholeSeconds(int(found))


def seconds(text: str) -> Seconds:
    """Parse a duration, or a plain number of seconds as in older configurations."""
    if re.fullmatch(r"[0-9]{1,9}", text):
        return Seconds(float(text))
    try:
        return Seconds(float(duration(text)))
    except ValueError as error:
        raise ValueError(f"{error}, or a number of seconds") from None


def csv(text: str) -> Csv:
    return Csv(tuple(part.strip() for part in text.split(",") if part.strip()))


def url(text: str) -> Url:
    """Validate an http or https URL without a login, which would be a secret in plain text."""
    try:
        parts = urlsplit(text)
        ok = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        ok = False
    if not ok or re.search(r"[\s\x00-\x1f]", text):
        raise ValueError("an http:// or https:// URL with a host")
    if parts.username or parts.password:
        raise ValueError(
            "a URL without user and password: the login goes where the target has an option for it"
        )
    return Url(text)


def login_url(text: str) -> LoginUrl:
    """Validate a URL with a percent-encoded login; the target checks the scheme."""
    try:
        parts = urlsplit(text)
        ok = not text or (parts.scheme and parts.hostname and parts.port != 0)
    except ValueError:
        ok = False
    if not ok or re.search(r"[\s\x00-\x1f]", text):
        raise ValueError("a URL with a scheme and a host, such as scheme://user:password@host:port")
    return LoginUrl(text)


def address(text: str) -> Address:
    """Validate a host, or an IPv6 address in brackets, with or without a port."""
    found = re.fullmatch(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s/@:\[\]]*)(?::([0-9]{1,5}))?", text)
    if not text or not found or int(found[1] or 0) > _LAST_PORT:
        raise ValueError("host:port, such as localhost:6379")
    return Address(text)


def pem(text: str) -> Pem:
    if text and "-----BEGIN " not in text and not text.startswith(REFERENCE):
        raise ValueError("PEM text that begins with -----BEGIN, or the path of such a file")
    return Pem(text)


def pem_key(text: str) -> SecretPem:
    return SecretPem(pem(text))


_SEED = re.compile(r"\bSU[A-Z2-7]{56}\b")


def seed(text: str) -> SecretSeed:
    """Validate a seed, alone or between the lines that NATS's tools put around it."""
    if text and not _SEED.search(text):
        raise ValueError("a user's NKEY seed, which begins with SU, or the path of such a file")
    return SecretSeed(text)


TYPES: Mapping[Any, tuple[str, Parse]] = {
    str: ("string", str),
    str | None: ("string", lambda text: text or None),
    int: ("number", integer),
    int | None: ("number", positive),
    Address: ("address", address),
    Csv: ("csv", csv),
    Duration: ("duration", duration),
    LoginUrl: ("url with login", login_url),
    OnOff: ("on|off", on_off),
    Pem: ("pem", pem),
    Seconds: ("duration or seconds", seconds),
    Secret: ("secret", Secret),
    SecretPem: ("secret pem", pem_key),
    SecretSeed: ("secret seed", seed),
    Url: ("url", url),
    WholeSeconds: ("whole seconds", whole_seconds),
}
"""What each type is called in help and docs, and how its text is read."""


class Limits(NamedTuple):
    """The least and the most that an option allows, as text; with `or_zero` it allows 0 as well."""

    least: str
    most: str
    or_zero: bool = False

    def __str__(self) -> str:
        return f"{'0, or ' if self.or_zero else ''}{self.least} to {self.most}"

    def bounding(self, parse: Parse) -> Parse:
        """Return the function with the limits checked."""
        least, most = parse(self.least), parse(self.most)

        def bounded(text: str) -> Any:
            value = parse(text)
            if not (self.or_zero and not value) and not least <= (value or 0) <= most:
                raise ValueError(str(self))
            return value

        return bounded


@dataclass(frozen=True, slots=True)
class Option:
    """One declared option: its MinIO key, its type's name, and its documentation.

    `unused` is why it has no effect, if it has none. A `suggested` option is in the example of its
    kind's page, though it is not required.
    """

    key: str
    type: str
    help: str
    default: str
    required: bool
    example: str
    secret: bool
    pem: bool
    seed: bool
    variable: str
    unused: str
    suggested: bool
    limits: Limits | None
    parse: Parse

    def names_file(self, text: str) -> bool:
        """Return whether this text is the path of the file with the value."""
        is_value = "-----BEGIN " in text or (self.seed and _SEED.fullmatch(text) is not None)
        return (self.pem or self.seed) and not is_value

    def hides(self, text: str) -> bool:
        """Return whether this text is secret."""
        return self.secret and (self.type != TYPES[LoginUrl][0] or _without_login(text) != text)


def option(  # noqa: PLR0913 - all that an option declares
    help: str,  # noqa: A002 - what it is
    *,
    default: str | None = None,
    example: str = "",
    variable: str = "",
    suggested: bool = False,
    limits: Limits | None = None,
    parse: Parse | None = None,
) -> Any:
    """Declare an option; without a default it is required.

    `variable` is the end of its environment variable where MinIO calls that other than the key.
    `parse` replaces the type's own function; of a list it takes each item.
    """
    metadata = {
        "help": help,
        "default": default,
        "example": example,
        "variable": variable,
        "suggested": suggested,
        "limits": limits,
        "parse": parse,
    }
    return dataclasses.field(metadata=metadata)


def unused(why: str, *, default: str, example: str = "") -> Any:
    """Declare an option of MinIO's that is accepted without effect, and why."""
    given: Any = option(f"accepted and not used: {why}", default=default, example=example)
    return dataclasses.field(metadata={**given.metadata, "unused": why})


@cache
def options_of(declared: type[Any]) -> Mapping[str, Option]:
    """Return the options of a dataclass by key, in the order of declaration."""
    hints = get_type_hints(declared)
    return {
        field.name: _option(field.name, hints[field.name], field.metadata)
        for field in dataclasses.fields(declared)
    }


def _option(key: str, hint: Any, metadata: Mapping[str, Any]) -> Option:
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        name, parse = "|".join(choices), choice(choices)
    else:
        name, parse = TYPES[hint]
    if own := metadata["parse"]:
        parse = _items(own) if hint is Csv else _unless_empty(own)
    limits: Limits | None = metadata["limits"]
    secret = isinstance(hint, type) and issubclass(hint, Secret)
    return Option(
        key=key,
        type=name,
        help=metadata["help"],
        default=metadata["default"] or "",
        required=metadata["default"] is None,
        example=metadata["example"],
        secret=secret,
        pem="pem" in name,
        seed=hint is SecretSeed,
        variable=metadata["variable"] or key.upper(),
        unused=metadata.get("unused", ""),
        suggested=metadata["suggested"],
        limits=limits,
        parse=limits.bounding(parse) if limits else parse,
    )


def _items(parse: Parse) -> Parse:
    return lambda text: Csv(tuple(map(parse, csv(text))))


def _unless_empty(parse: Parse) -> Parse:
    return lambda text: text and parse(text)


def choice(choices: Iterable[str]) -> Callable[[str], str]:
    """Return the function that takes one of these words, in any case."""
    spelled = {choice.lower(): choice for choice in choices}

    def parse(text: str) -> str:
        if text.lower() not in spelled:
            near = did_you_mean(text.lower(), spelled).rstrip()
            raise ValueError(
                f"one of {', '.join(spelled.values())}" + (f" ({near})" if near else "")
            )
        return spelled[text.lower()]

    return parse


def without_use(settings: Any) -> Iterator[str]:
    """Yield a sentence for each given option that has no effect."""
    declared: Any = type(settings)
    for key, declaration in options_of(declared).items():
        if declaration.unused and getattr(settings, key) != _value(
            declaration, declaration.default
        ):
            yield f"{key} does nothing here: {declaration.unused}"


def validation_errors(
    declared: type, values: Mapping[str, str], where: str
) -> Iterator[ConfigError]:
    """Yield all errors of these values; `where` is the prefix of their keys."""
    options = options_of(declared)
    for key, text in values.items():
        if key not in options:
            allowed = f"{did_you_mean(key, options)}allowed are {', '.join(options)}"
            yield ConfigError(f"{where}{key}", "unknown key", allowed)
        elif text and not text.startswith(REFERENCE):
            for part in csv(text) if options[key].type == TYPES[Csv][0] else (text,):
                try:
                    options[key].parse(part)
                except ValueError as error:
                    found = "***" if options[key].secret else repr(_without_login(part))
                    yield ConfigError(f"{where}{key}", f"found {found}", f"allowed is {error}")
    for key, declaration in options.items():
        if declaration.required and not values.get(key):
            example = f", for example {declaration.example}" if declaration.example else ""
            allowed = f"a {declaration.type} is needed{example}"
            yield ConfigError(f"{where}{key}", "missing", allowed)


def _without_login(text: str) -> str:
    return re.sub(r"(^|://)\S*@", r"\1***@", text)


def read(declared: type[T], values: Mapping[str, str], where: str = "") -> T:
    """Return the declared dataclass from texts; an empty text counts as unset.

    Raises:
        ConfigErrors: all errors found.
    """
    if errors := list(validation_errors(declared, values, where)):
        raise ConfigErrors(errors)
    options = options_of(declared)  # type: ignore[arg-type]  # classes are hashable
    texts = {key: values.get(key) or declaration.default for key, declaration in options.items()}
    return declared(**{key: _value(options[key], text) for key, text in texts.items()})


def _value(declaration: Option, text: str) -> Any:
    if text.startswith(REFERENCE):  # a checked configuration, not yet resolved
        return Secret(text) if declaration.secret else text
    return (
        declaration.parse(text)
        if text or declaration.type in ("string", "csv") or declaration.secret
        else None
    )
