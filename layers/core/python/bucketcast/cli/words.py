"""What is typed as a bucket, an ARN, events, or a part of a key; else `click.BadParameter`."""

import re
from collections.abc import Callable
from pathlib import Path

import click

from bucketcast import names, wording
from bucketcast.arn import PREFIX, Arn
from bucketcast.conditions import Condition
from bucketcast.options import duration
from bucketcast.queues.address import kind_of
from bucketcast.targets import load

KEY_BYTES = 1024
_COMMONEST = {
    "put": "s3:ObjectCreated:Put",
    "delete": "s3:ObjectRemoved:Delete",
    "get": "s3:ObjectAccessed:Get",
}
_URI = "s3://"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")

files = click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
)
"""The files that an import reads; - is standard input."""


def bucket_name(text: str) -> str:
    if not _BUCKET.fullmatch(text):
        raise click.BadParameter(f"'{text}' is no bucket's name: it stands alone, as in uploads")
    return text


def arn(text: str) -> Arn:
    try:
        return Arn.parse(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}; `bucketcast target ls` shows those there are") from None


def target_name(text: str) -> tuple[str, str]:
    """Kind and id of `KIND:ID`, or of the target's ARN."""
    try:
        if text.startswith(PREFIX):
            found = Arn.parse(text)
            return kind_of(found), found.id
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    kind, colon, id_ = text.partition(":")
    if not (colon and kind and id_):
        raise click.BadParameter(f"'{text}' is no target: KIND:ID, such as webhook:primary")
    return kind.removeprefix("notify_"), id_


def target_arn(text: str) -> Arn:
    """The ARN, also of `KIND:ID`."""
    if text.startswith("arn:"):
        return arn(text)
    kind, id_ = target_name(text)
    try:
        return Arn(id=id_, type=load(kind).arn_type)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def events(text: str) -> tuple[str, ...]:
    try:
        return names.from_words(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def single_event(text: str) -> str:
    """One event's name; of `mc`'s words the commonest that each stands for."""
    name = _COMMONEST.get(text, text)
    if name not in names.SINGLES:
        known = ", ".join(_COMMONEST)
        raise click.BadParameter(
            f"'{text}' is no single event: {known}, or a name such as s3:ObjectCreated:Copy"
        )
    return name


def condition(begins: str = "", *, unless: bool = False) -> Callable[[str], Condition]:
    """What reads a condition whose text begins so."""

    def parsed(text: str) -> Condition:
        try:
            text.encode()
            return wording.parse(begins + text, unless=unless)
        except UnicodeEncodeError:
            raise click.BadParameter("is not UTF-8") from None
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return parsed


def rule_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise click.BadParameter(f"'{text}' is no name: 1 to 255 of A-Z, a-z, 0-9, '.', '_', '-'")
    return text


def pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.BadParameter(f"'{text}' is no pair: NAME=VALUE")
    return name, value


def setting(text: str) -> tuple[str, str]:
    """A key and its value, which may be empty."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.BadParameter(f"'{key}' is no setting: KEY=VALUE")
    return key, value


def object_uri(text: str) -> tuple[str, str]:
    """Bucket and key of `s3://BUCKET/KEY`."""
    bucket, _, key = text.removeprefix(_URI).partition("/")
    if not (text.startswith(_URI) and bucket and key):
        raise click.BadParameter(f"'{text}' names no object: s3://BUCKET/KEY")
    return bucket_name(bucket), key


def since(text: str) -> float:
    """Seconds of a Go duration."""
    try:
        seconds = float(duration(text))
    except ValueError as error:
        raise click.BadParameter(f"found '{text}'; allowed is {error}") from None
    return seconds


def key_part(text: str) -> str:
    """What a key may begin or end with, as MinIO checks it."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise click.BadParameter("is not UTF-8") from None
    if size > KEY_BYTES:
        raise click.BadParameter(f"has {size} bytes, and a key has {KEY_BYTES} at most")
    if "\\" in text:
        raise click.BadParameter(f"'{text}' holds a backslash: the separator is /")
    if {".", ".."} & set(text.split("/")):
        raise click.BadParameter(f"'{text}' has '.' or '..' between its slashes")
    return text
