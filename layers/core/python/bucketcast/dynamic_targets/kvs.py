r"""MinIO's lines of configuration: `notify_webhook:1 endpoint="http://…" queue_limit="0"`.

The shell removes quotes and `mc` joins its arguments by blanks, so a value ends at the next key. A
connection string has keys of its own; it ends at the next key of the target. In the lines of an
export a value with blanks is in quotes, in which nothing is escaped: a quote ends its value where a
key or nothing follows::

    notify_postgres:1 connection_string=host=localhost port=5432 table=events format=access
    notify_webhook:1 endpoint=http://localhost comment="two words"
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from bucketcast import targets
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.settings.options import options_of

DEFAULT_ID: Final = "_"
REDACTED: Final = "*redacted*"
"""Replaces secrets in the gateway's output; as an input it leaves the secret unchanged."""
_HEAD: Final = re.compile(r"(?P<system>[a-z][a-z0-9_]*)(?::(?P<id>\S+))?(?:\s+|$)")
_KEY: Final = re.compile(r"(?:^|(?<=\s))(?P<key>[a-z][a-z0-9_]*)=")
_QUOTED: Final = re.compile(
    r"""(?P<quote>["'])(?P<text>.*?)(?P=quote)(?=\s+[a-z][a-z0-9_]*=|\s*$)\s*"""
)
_PEM: Final = "-----BEGIN "
_STRINGS: Final[Mapping[str, str]] = {"connection_string": "postgres", "dsn_string": "mysql"}
_OF_STRINGS: Final = frozenset({"host", "port", "username", "password", "database"})
"""Keys of a target that are keys of its connection string, too."""


class Line(NamedTuple):
    """One line: its sub-system, the target's id ("" if none is named), and its values."""

    system: str
    id: str
    values: Mapping[str, str]


def parse_line(text: str) -> Line:
    """Parse one line.

    Raises:
        ConfigErrors: the line is invalid.
    """
    head = _HEAD.match(text.strip())
    if head is None:
        start = text.split("=", maxsplit=1)[0][:60]
        raise ConfigErrors([ConfigError(start, "found no sub-system", "notify_KIND[:ID] k=v")])
    return Line(head["system"], head["id"] or "", dict(_pairs(text.strip()[head.end() :])))


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    position = 0
    if text and not _KEY.match(text):
        first = text.split(maxsplit=1)[0]
        raise ConfigErrors([ConfigError(first, "found no '='", "allowed is KEY=VALUE")])
    # Up to this position no quote is closed, so the text is not searched for each key.
    unclosed_until = dict.fromkeys("\"'", 0)
    while key_match := _KEY.match(text, position):
        key, start = key_match["key"], key_match.end()
        quote = text[start : start + 1]
        if start >= unclosed_until.get(quote, len(text)):
            if quoted := _QUOTED.match(text, start):
                pairs.append((key, _unescape_lines(quoted["text"])))
                position = quoted.end()
                continue
            line_end = text.find("\n", start)
            unclosed_until[quote] = line_end if line_end >= 0 else len(text)
        following = _KEY.finditer(text, start)
        if key in _STRINGS:
            ends = _ends_string(_STRINGS[key])
            following = (match for match in following if match["key"] in ends)
        end = next((match.start() for match in following), len(text))
        pairs.append((key, text[start:end].strip()))
        position = end
    return pairs


def _ends_string(kind: str) -> frozenset[str]:
    """Return the keys that end the connection string of a kind."""
    declared: Any = targets.load(kind).Settings
    return frozenset(options_of(declared)) - _OF_STRINGS


def format_line(system: str, id: str, values: Mapping[str, str], *, off: bool = False) -> str:  # noqa: A002
    """Format a line as MinIO does; that of a disabled target is a comment."""
    name = system if id in ("", DEFAULT_ID) else f"{system}:{id}"
    pairs = [f'{key}="{_escape_lines(value)}"' for key, value in values.items()]
    line = " ".join([name, *(['enable="off"'] if off else []), *pairs])
    return f"# {line}" if off else line


def _unescape_lines(text: str) -> str:
    return text.replace("\\n", "\n") if _PEM in text else text


def _escape_lines(text: str) -> str:
    """Escape line breaks, such as a certificate's, since a configuration line is one line."""
    return text.replace("\n", "\\n")
