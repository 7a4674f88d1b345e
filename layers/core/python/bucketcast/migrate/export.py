"""Parse `mc admin config export` and `mc admin config get`: one line per sub-system or target.

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
from bucketcast.migrate.minio_keys import ABOUT_THE_SERVER
from bucketcast.migrate.parsed import Parsed, TargetId
from bucketcast.targets import kinds

NOTIFY = "notify_"
_SUB_SYSTEM = re.compile(r"[a-z][a-z0-9_]*")
_VARIABLE = re.compile(r"#\s*(MINIO_[A-Z0-9_]\S*?)=(.*)")
_OFF = re.compile(r"#\s*(notify_([a-z]+)(?::\S+)?\s(?:.*\s)?enable=\"?off\b.*)")
_SYNC_EVENTS = re.compile(r"(?:^|\s)sync_events=\"?(\w+)")
_NEXT = r"(?=\s+[a-z][a-z0-9_]*=|\s*$)"
_PAIR = re.compile(
    rf"""\s*(?P<key>[a-z][a-z0-9_]*)=(?:"(?P<double>.*?)"{_NEXT}|'(?P<single>.*?)'{_NEXT}"""
    r"""|(?P<bare>(?!["'])\S*))(?=\s|$)"""
)


def read(text: str, name: str, parsed: Parsed) -> None:
    """Parse the lines of the file with this name."""
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip()
        if variable := _VARIABLE.fullmatch(content):
            parsed.variables[variable[1]] = variable[2].strip()
            continue
        if content.startswith("#"):
            off = _OFF.fullmatch(content)
            content = off[1] if off and off[2] in kinds() else ""
        if content:
            _read_line(content, f"{name}:{number}", parsed)


def _read_line(line: str, where: str, parsed: Parsed) -> None:
    head, _, rest = line.partition(" ")
    sub_system, _, target = head.partition(":")
    kind = sub_system.removeprefix(NOTIFY)
    known = [NOTIFY + kind for kind in kinds()]
    if sub_system in known:
        parsed.store(where, TargetId(kind, target or "_"), _pairs(rest, where, parsed))
    elif _SUB_SYSTEM.fullmatch(sub_system) and not sub_system.startswith(NOTIFY):
        sync_events = _SYNC_EVENTS.search(rest) if sub_system == "api" else None
        if sync_events:
            parsed.sync_events = sync_events[1]
        exception = " except sync_events" if sync_events else ""
        parsed.leave_out(sub_system + exception, ABOUT_THE_SERVER)
    else:
        parsed.error(
            where,
            f"unknown sub-system '{sub_system}'",
            f"{did_you_mean(sub_system, known)}correct or delete the line; supported are "
            f"{', '.join(known)}, and MinIO's other sub-systems are skipped",
        )


def _pairs(settings: str, where: str, parsed: Parsed) -> dict[str, str]:
    pairs: dict[str, str] = {}
    position = 0
    while settings[position:].strip():
        pair = _PAIR.match(settings, position)
        if pair is None:
            # The text may be a secret, so it is not shown.
            after = f"after {list(pairs)[-1]}" if pairs else "after the sub-system"
            allowed = 'key=value, or key="…" for a value with spaces'
            parsed.error(where, f"found no key=value {after}", f"allowed is {allowed}")
            break
        quoted = pair["double"] if pair["double"] is not None else pair["single"]
        pairs[pair["key"]] = pair["bare"] if quoted is None else quoted
        position = pair.end()
    return pairs
