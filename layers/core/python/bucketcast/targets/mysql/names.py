"""Names of tables, as MinIO's option has them and as they stand in SQL."""

import re
from typing import Literal, NamedTuple, Self

Form = Literal["namespace", "access"]
GUARD = "_guard"
_MAX_NAME = 64  # characters
_ALLOWED = (
    "allowed are letters, digits, _ and $, not digits alone, or any text in `backquotes` that ends "
    "in no space; with or without a database and a dot before"
)
_PART_OF_NAME = r"(?:`((?:[^`\0]|``)+)`|([0-9A-Za-z$_\u0080-\uffff]+))"
_name = re.compile(rf"(?:{_PART_OF_NAME}\.)?{_PART_OF_NAME}").fullmatch


class Names(NamedTuple):
    """A table and its guard as they stand in SQL."""

    table: str
    guard: str

    @classmethod
    def of(cls, text: str, form: Form) -> Self:
        """Return names of a table as MinIO's option has it: `table` or `database.table`.

        Raises:
            ValueError: it is no such name, or too long for its guard.
        """
        found = _name(text)
        if not found or any((found[plain] or "").isdigit() for plain in (2, 4)):
            raise ValueError(_ALLOWED)
        database, table = found[1] or found[2] or "", found[3] or found[4]
        if database.endswith(" ") or table.endswith(" "):
            raise ValueError(_ALLOWED)
        longest = _MAX_NAME - len(GUARD) * (form == "namespace")
        if len(table.replace("``", "`")) > longest:
            raise ValueError(f"at most {longest} characters, as {GUARD} may stand behind them")
        within = f"`{database}`." if database else ""
        return cls(f"{within}`{table}`", f"{within}`{table}{GUARD}`")
