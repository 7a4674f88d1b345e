"""Read tables of the configuration into dataclasses of options, collecting all errors."""

from collections.abc import Mapping
from typing import Any, Final

from bucketcast.config.function import ALL
from bucketcast.errors import ConfigError
from bucketcast.settings.options import options_of, read, validation_errors
from bucketcast.settings.types import REFERENCE

_LOCAL: Final[Mapping[str, Mapping[str, str]]] = {
    "": {"object_facts": "all"},
    "dynamic_targets": {"kinds": ALL},
}
"""The defaults of a local deploy, by table."""
_WORDS: Final = {dict: "a table", float: "a number with decimals"}


class Tables:
    """The errors and notes of one configuration, and the methods that read its tables."""

    def __init__(self, *, local: bool) -> None:
        self.local = local
        self.errors: list[ConfigError] = []
        self.notes: list[str] = []

    def error(self, key: str, found: str, allowed: str) -> None:
        self.errors.append(ConfigError(key, found, allowed))

    def options(self, declared: type[Any], table: Any, where: str) -> Any:
        """Return a table's options, None if there are errors."""
        values = self.values(declared, table, where)
        for key, text in _LOCAL.get(where, {}).items() if self.local else ():
            values[key] = values.get(key) or text
        return self.parse(declared, values, where)

    def parse(self, declared: type[Any], values: Mapping[str, str], where: str) -> Any:
        """Return the options with these values, also checked together; None if there are errors.

        Unlike a target's settings these are not resolved later: only secrets may be references.
        """
        declarations = options_of(declared)  # type: ignore[arg-type]  # classes are hashable
        for key, text in values.items():
            if text.startswith(REFERENCE) and key in declarations and not declarations[key].secret:
                self.error(
                    f"{where}.{key}".lstrip("."), f"found {text!r}", "no reference to a secret"
                )
        if errors := list(validation_errors(declared, values, f"{where}." if where else "")):
            self.errors += errors
            return None
        options = read(declared, values)
        if hasattr(options, "validation_errors"):
            for key, found, allowed in options.validation_errors():
                self.error(f"{where}.{key}", found, allowed)
        return options

    def subtables(self, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Return the table of tables with this key."""
        subtables = table.get(key, {})
        if isinstance(subtables, dict):
            return subtables
        self.error(key, f"found {subtables!r}", f"a table such as [{key}.NAME]")
        return {}

    def values(self, declared: type[Any], table: Any, where: str) -> dict[str, str]:
        """Return a table's values as text; only those of declared keys have to be of its forms."""
        if not isinstance(table, dict):
            self.error(where, f"found {table!r}", f"a table [{where}]")
            return {}
        values, declarations = {}, options_of(declared)  # type: ignore[arg-type]
        for key, value in table.items():
            is_wrong = isinstance(value, dict | float) or (
                isinstance(value, list) and not all(isinstance(item, str) for item in value)
            )
            if is_wrong and key in declarations:
                found = f"found {_WORDS.get(type(value), 'a list of other than text')}"
                allowed = "text, a whole number or true|false"
                self.error(f"{where}.{key}".lstrip("."), found, allowed)
            else:
                values[key] = _text(value)
        return values


def _text(value: Any) -> str:
    """Return a TOML value as MinIO's configuration would spell it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).strip()
