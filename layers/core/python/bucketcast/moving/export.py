"""`mc admin config export` and `mc admin config get`: a line a sub-system or target.

::

    # MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN_primary=…      a variable of the server, which wins
    notify_webhook:primary endpoint=http://… queue_limit=0 comment="two words"
    # notify_kafka enable=off brokers= topic= …      switched off, unless a variable says otherwise
    api requests_max=0 sync_events=on

`enable` is absent where it is on. MinIO puts a value in double quotes where it has a space, its
older releases always, and escapes nothing: a quote ends its value where a key or nothing follows.
"""

import re

from bucketcast.errors import did_you_mean
from bucketcast.moving.found import Found, TargetId
from bucketcast.moving.known import ABOUT_THE_SERVER, SUB_SYSTEMS
from bucketcast.targets import kinds

NOTIFY = "notify_"
_VARIABLE = re.compile(r"#\s*(MINIO_[A-Z0-9_]\S*?)=(.*)")
_OFF = re.compile(r"#\s*(notify_([a-z]+)(?::\S+)?\s(?:.*\s)?enable=\"?off\b.*)")
_SYNC_EVENTS = re.compile(r"(?:^|\s)sync_events=\"?(\w+)")
_NEXT = r"(?=\s+[a-z][a-z0-9_]*=|\s*$)"
_PAIR = re.compile(
    rf"""\s*(?P<key>[a-z][a-z0-9_]*)=(?:"(?P<double>.*?)"{_NEXT}|'(?P<single>.*?)'{_NEXT}"""
    r"""|(?P<bare>(?!["'])\S*))(?=\s|$)"""
)


def read(text: str, name: str, found: Found) -> None:
    """Read the lines of the file of this name."""
    for number, line in enumerate(text.splitlines(), 1):
        said = line.strip()
        if variable := _VARIABLE.fullmatch(said):
            found.variables[variable[1]] = variable[2].strip()
            continue
        if said.startswith("#"):
            off = _OFF.fullmatch(said)
            said = off[1] if off and off[2] in kinds() else ""
        if said:
            _read_line(said, f"{name}:{number}", found)


def _read_line(line: str, where: str, found: Found) -> None:
    head, _, rest = line.partition(" ")
    sub_system, _, target = head.partition(":")
    kind = sub_system.removeprefix(NOTIFY)
    if sub_system.startswith(NOTIFY) and kind in kinds():
        found.store(where, TargetId(kind, target or "_"), _pairs(rest, where, found))
    elif sub_system in SUB_SYSTEMS:
        sync_events = _SYNC_EVENTS.search(rest) if sub_system == "api" else None
        if sync_events:
            found.sync_events = sync_events[1]
        apart = " but for sync_events" if sync_events else ""
        found.leave_out(sub_system + apart, ABOUT_THE_SERVER)
    else:
        known = [*(NOTIFY + kind for kind in kinds()), *SUB_SYSTEMS]
        found.wrong(
            where,
            f"unknown sub-system '{sub_system}'",
            f"{did_you_mean(sub_system, known)}correct it, or delete the line: taken over are "
            f"{', '.join(known[: len(kinds())])}, left aside are MinIO's others",
        )


def _pairs(text: str, where: str, found: Found) -> dict[str, str]:
    pairs: dict[str, str] = {}
    place = 0
    while text[place:].strip():
        pair = _PAIR.match(text, place)
        if pair is None:
            # What stands there may be a secret, so it is not shown.
            after = f"behind {list(pairs)[-1]}" if pairs else "behind the sub-system"
            allowed = 'key=value, and key="…" for a value with spaces'
            found.wrong(where, f"found no key=value {after}", f"allowed is {allowed}")
            break
        quoted = pair["double"] if pair["double"] is not None else pair["single"]
        pairs[pair["key"]] = pair["bare"] if quoted is None else quoted
        place = pair.end()
    return pairs
