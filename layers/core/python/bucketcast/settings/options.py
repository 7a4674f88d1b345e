"""Options: declared once, as typed fields of a dataclass; all else comes from there.

A declaration::

    @dataclass(frozen=True, kw_only=True)
    class Settings(Common):
        endpoint: Url = option("where events are posted", example="https://example.org/hook")
        timeout: Duration = option("how long one request may take", default="10s")

The field's type decides which text is allowed (`types.TYPES`); `limits` or a `parse` of its own
narrow it down. `default` is text too, as a user would write it, and an option without one is
required. Any option may hold `secret:NAME`, a reference that is resolved where the value is used.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypedDict,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from bucketcast.errors import ConfigError, ConfigErrors, did_you_mean
from bucketcast.settings.types import (
    REFERENCE,
    TYPES,
    Csv,
    LoginUrl,
    Parse,
    Secret,
    SecretSeed,
    choice,
    csv,
    is_seed,
)

T = TypeVar("T")


class Limits(NamedTuple):
    """The least and the most that an option allows, as text; with `or_zero` it allows 0 as well."""

    least: str
    most: str
    or_zero: bool = False

    def __str__(self) -> str:
        return f"{'0, or ' if self.or_zero else ''}{self.least} to {self.most}"

    def bounding(self, parse: Parse) -> Parse:
        """Return the parser with the limits checked."""
        least, most = parse(self.least), parse(self.most)

        def bounded(text: str) -> Any:
            value = parse(text)
            if not (self.or_zero and not value) and not least <= (value or 0) <= most:
                raise ValueError(str(self))
            return value

        return bounded


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One declared option: its MinIO key, its type's name, and its documentation.

    `variable` is the end of its environment variable, and `parse` also checks its limits. The rest
    is as it was declared.
    """

    key: str
    type: str
    help: str
    default: str = ""
    required: bool
    example: str = ""
    secret: bool
    pem: bool
    seed: bool
    variable: str
    unused: str = ""
    suggested: bool = False
    limits: Limits | None = None
    parse: Parse

    def names_file(self, text: str) -> bool:
        """Return True if this text is the path of the file with the value."""
        is_value = "-----BEGIN " in text or (self.seed and is_seed(text))
        return (self.pem or self.seed) and not is_value

    @property
    def sentence(self) -> str:
        """Its help with its limits, its default and an example."""
        notes = [str(self.limits)] if self.limits else []
        if self.required:
            notes.append("required")
        elif self.default:
            notes.append(f"default {self.default}")
        if self.example:
            notes.append(f"such as {self.example}")
        return f"{self.help} ({'; '.join(notes)})" if notes else self.help

    def hides(self, text: str) -> bool:
        """Return True if this text is secret."""
        return self.secret and (self.type != TYPES[LoginUrl][0] or _without_login(text) != text)


class _Declared(TypedDict, total=False):
    """What may be declared of an option; without a default it is required.

    `variable` is the end of its environment variable where MinIO calls that other than the key.
    `parse` replaces the type's own function; of a list it takes each item. `unused` is the reason
    for which it has no effect. A `suggested` option is in the example of its kind's page, though it
    is not required.
    """

    default: str
    example: str
    variable: str
    unused: str
    suggested: bool
    limits: Limits
    parse: Parse


def option(help: str, **declared: Unpack[_Declared]) -> Any:  # noqa: A002 - the word of help texts
    """Declare an option."""
    return dataclasses.field(metadata={"help": help, **declared})


def unused(reason: str, *, default: str, example: str = "") -> Any:
    """Declare an option of MinIO's that is accepted without effect."""
    text = f"accepted and not used: {reason}"
    return option(text, default=default, example=example, unused=reason)


@cache
def options_of(declared: type[Any]) -> Mapping[str, Option]:
    """Return the options of a dataclass by key, in the order of declaration."""
    hints = get_type_hints(declared)
    return {
        field.name: _option(field.name, hints[field.name], field.metadata)
        for field in dataclasses.fields(declared)
    }


def own_first(declared: Any) -> dict[str, Option]:
    """Return the options of a kind of target: its own first, then the common ones."""
    own, options = declared.__annotations__, options_of(declared)
    return {key: options[key] for key in sorted(options, key=lambda key: key not in own)}


def _option(key: str, hint: Any, metadata: Mapping[str, Any]) -> Option:
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        name, parse = "|".join(choices), choice(choices)
    else:
        name, parse = TYPES[hint]
    if custom := metadata.get("parse"):
        parse = _items(custom) if hint is Csv else _unless_empty(custom)
    limits: Limits | None = metadata.get("limits")
    found = {
        "key": key,
        "type": name,
        "required": "default" not in metadata,
        "secret": isinstance(hint, type) and issubclass(hint, Secret),
        "pem": "pem" in name,
        "seed": hint is SecretSeed,
        "parse": limits.bounding(parse) if limits else parse,
    }
    return Option(**{"variable": key.upper(), **metadata, **found})


def _items(parse: Parse) -> Parse:
    return lambda text: Csv(tuple(map(parse, csv(text))))


def _unless_empty(parse: Parse) -> Parse:
    return lambda text: text and parse(text)


def unused_notes(settings: Any) -> Iterator[str]:
    """Yield a sentence for each option that is set and has no effect."""
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
        elif text.partition("#")[0] == REFERENCE:
            yield ConfigError(
                f"{where}{key}", "found no name of a secret", f"allowed is {REFERENCE}NAME"
            )
        elif text and not text.startswith(REFERENCE):
            for part in csv(text) if options[key].type == TYPES[Csv][0] else (text,):
                try:
                    options[key].parse(part)
                except ValueError as error:
                    shown = "***" if options[key].secret else repr(_without_login(part))
                    yield ConfigError(f"{where}{key}", f"found {shown}", f"allowed is {error}")
    for key, declaration in options.items():
        if declaration.required and not values.get(key):
            example = f", for example {declaration.example}" if declaration.example else ""
            article = "an" if declaration.type[0] in "ao" else "a"
            allowed = f"{article} {declaration.type} is needed{example}"
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
    if text.startswith(REFERENCE):  # resolved later, where the value is used
        return Secret(text) if declaration.secret else text
    return (
        declaration.parse(text)
        if text or declaration.type in ("string", "csv") or declaration.secret
        else None
    )
