"""Names of tables, in MinIO's option and in SQL."""

import re
from typing import Literal, NamedTuple, Self

Form = Literal["namespace", "access"]
GUARD = "_guard"
_MAX_NAME = 64  # characters
_ALLOWED = (
    "allowed are letters, digits, _ and $, not digits alone, or any text in `backquotes` that ends "
    "in no space; with or without a database and a dot before"
)
# Digits, letters, _, $ and \u0080 to \uffff. Python takes ten times as long to compile that set.
_UNQUOTED = r"[^\x00-#%-/:-@\[-^`{-\x7f\U00010000-\U0010ffff]+"
_PART_OF_NAME = rf"(?:`((?:[^`\0]|``)+)`|({_UNQUOTED}))"
_name = re.compile(rf"(?:{_PART_OF_NAME}\.)?{_PART_OF_NAME}").fullmatch


class Names(NamedTuple):
    """The quoted names of a table and its guard in SQL."""

    table: str
    guard: str

    @classmethod
    def of(cls, option: str, form: Form) -> Self:
        """Return the names for MinIO's option: `table` or `database.table`.

        Raises:
            ValueError: it is no such name, or the guard's name would be too long.
        """
        match = _name(option)
        if not match or any((match[plain] or "").isdigit() for plain in (2, 4)):
            raise ValueError(_ALLOWED)
        database, table = match[1] or match[2] or "", match[3] or match[4]
        if database.endswith(" ") or table.endswith(" "):
            raise ValueError(_ALLOWED)
        max_length = _MAX_NAME - len(GUARD) * (form == "namespace")
        if len(table.replace("``", "`")) > max_length:
            raise ValueError(f"at most {max_length} characters, as {GUARD} may stand behind them")
        prefix = f"`{database}`." if database else ""
        return cls(f"{prefix}`{table}`", f"{prefix}`{table}{GUARD}`")
