"""Parameter types: buckets, ARNs, events, keys and so on; bad input is a `click.BadParameter`."""

import ipaddress
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from bucketcast.destination import Destination, TargetArn, TopicArn
from bucketcast.event import names
from bucketcast.rules import grammar
from bucketcast.rules.conditions import Condition
from bucketcast.settings import types
from bucketcast.targets import named
from bucketcast.terminal.completion import buckets, completed, targets

P = ParamSpec("P")
T = TypeVar("T")
_COMMONEST = {
    "put": "s3:ObjectCreated:Put",
    "delete": "s3:ObjectRemoved:Delete",
    "get": "s3:ObjectAccessed:Get",
}
URI = "s3://"

files = click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
)
"""The files to import; - is standard input."""

FILE = click.Path(path_type=Path, dir_okay=False)

config_file = click.option(
    "--file",
    "path",
    type=FILE,
    default="bucketcast.toml",
    show_default=True,
    help="The configuration file.",
)


def read_file(path: Path) -> str:
    """Return the text of a file to import."""
    try:
        with click.open_file(str(path), encoding="utf-8-sig") as stream:
            text: str = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise click.UsageError(f"{path} cannot be read: {reason}") from None
    return text


def period(flag: str, default: str, help_text: str) -> Callable[[Any], Any]:
    """Return an option that takes a duration."""
    return click.option(
        flag, type=since, default=default, show_default=True, metavar="DURATION", help=help_text
    )


def wait(help_text: str, default: int) -> Callable[[Any], Any]:
    """Return the option that limits how long a target is waited for."""
    return click.option(
        "--wait",
        type=click.IntRange(1, 900),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=help_text,
    )


def checked(parse: Callable[P, T]) -> Callable[P, T]:
    """Return a parser whose `ValueError` is a `click.BadParameter`."""

    @wraps(parse)
    def read(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return parse(*args, **kwargs)
        except UnicodeEncodeError:
            raise click.BadParameter("not valid UTF-8") from None
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


bucket_name = completed(buckets)(checked(grammar.bucket_name))
rule_name = checked(grammar.rule_name)
key_part = checked(grammar.key_part)
target = completed(targets)(checked(named))
"""The ARN of a target from its ARN or `KIND:ID`."""
events = checked(names.from_words)


@completed(targets)
def target_or_topic(text: str) -> TargetArn | TopicArn:
    """Return the ARN of a topic, or of a target as `target` does."""
    destination = Destination.of(text)
    return destination if isinstance(destination, TopicArn) else target(text)


def joined(parse: Callable[[str], T]) -> Callable[..., T | None]:
    """Return the callback of an option that takes a list: of all lists together, None without."""

    def read(_: click.Context, __: click.Parameter, lists: Sequence[str]) -> T | None:
        return parse(",".join(lists)) if lists else None

    return read


def event_option(
    help_text: str,
    parse: Callable[[str], tuple[str, ...]] = events,
    *,
    default: Sequence[str] | None = None,
) -> Callable[[Any], Any]:
    """Return the option that takes lists of events."""
    return click.option(
        "--event",
        "events",
        multiple=True,
        callback=joined(parse),
        metavar="EVENTS",
        default=default,
        show_default=True,
        help=help_text,
    )


def single_event(text: str) -> str:
    """Return one event's name; put, delete and get stand for their most common event."""
    name = _COMMONEST.get(text, text)
    if name not in names.SINGLES:
        known = ", ".join(_COMMONEST)
        raise click.BadParameter(
            f"invalid event '{text}'; allowed are {known} and a name, e.g. s3:ObjectCreated:Copy"
        )
    return name


def condition(prefix: str = "", *, unless: bool = False) -> Callable[[str], Condition]:
    """Return a parser for conditions that begin with this text."""

    @checked
    def parse(text: str) -> Condition:
        text.encode()
        return grammar.parse(prefix + text, unless=unless)

    return parse


def pair(text: str) -> tuple[str, str]:
    """Return name and value, which may be empty; an error does not repeat a value."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.BadParameter(f"found '{name}'; allowed is NAME=VALUE")
    return name, value


def object_uri(text: str) -> tuple[str, str]:
    """Return bucket and key of `s3://BUCKET/KEY`."""
    bucket, _, key = text.removeprefix(URI).partition("/")
    if not (text.startswith(URI) and bucket and key):
        raise click.BadParameter(f"invalid object '{text}'; allowed is s3://BUCKET/KEY")
    return bucket_name(bucket), key


def address(text: str) -> str:
    """Return a client's address; for S3's own operations it is the name of an AWS service."""
    try:
        if not text.endswith(".amazonaws.com"):
            ipaddress.ip_address(text)
    except ValueError:
        raise click.BadParameter(f"found '{text}'; allowed is an address like 10.0.0.1") from None
    return text


@checked
def since(text: str) -> float:
    """Return the seconds of a Go duration."""
    try:
        return float(types.duration(text))
    except ValueError as error:
        raise ValueError(f"found '{text}'; allowed is {error}") from None
