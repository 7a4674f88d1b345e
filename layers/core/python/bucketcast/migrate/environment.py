r"""Parse a file of environment variables of a shell, systemd (`/etc/default/minio`) or a container.

`KEY=value`, with or without `export`; `#` and `;` begin a comment. Quotes are those of a shell:
nothing is special in '…'; a backslash escapes `"`, `\` and `$` in "…", and any character
outside both. Unquoted text may have spaces, as in systemd. A
backslash at the end of a line joins it with the next. `$NAME` is not replaced, as by systemd.
"""

import re

from bucketcast.migrate.parsed import Parsed

_ASSIGNED = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_-]*)=(.*)", re.DOTALL)
_PART = re.compile(
    r"""(?s)"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|\\(?P<escaped>.)"""
    r"""|(?P<comment>\s+\#.*)|(?P<bare>[^"'\\])"""
)
_UNESCAPED = re.compile(r'\\(["\\$`])')


def read(text: str, name: str, parsed: Parsed) -> None:
    """Parse the assignments of the file with this name; the last one wins."""
    number = 0
    for statement in re.split(r"(?<!\\)\n", text):
        where = f"{name}:{number + 1}"
        number += statement.count("\n") + 1
        line = statement.replace("\\\n", "").strip()
        if not line or line[0] in "#;":
            continue
        assignment = _ASSIGNED.fullmatch(line)
        value = _unquote(assignment[2]) if assignment else None
        if assignment is None or value is None:
            # The text may be a secret, so it is not shown.
            problem = f"an unclosed quote in {assignment[1]}" if assignment else "no assignment"
            parsed.error(where, f"found {problem}", "allowed is KEY=value, KEY=\"…\" or KEY='…'")
            continue
        parsed.variables[assignment[1]] = value.strip()


def _unquote(quoted: str) -> str | None:
    parts = []
    position = 0
    while position < len(quoted):
        part = _PART.match(quoted, position)
        if part is None:
            return None
        if part["double"] is not None:
            parts.append(_UNESCAPED.sub(r"\1", part["double"]))
        elif part["comment"] is None:
            parts.append(part["single"] or part["escaped"] or part["bare"] or "")
        position = part.end()
    return "".join(parts)
