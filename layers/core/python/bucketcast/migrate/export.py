"""Parse `mc admin config export` and `mc admin config get`: one line per sub-system or target.

::

    # MINIO_NOTIFY_WEBHOOK_AUTH_TOKEN_primary=…      a variable of the server, which wins
    notify_webhook:primary endpoint=http://… queue_limit=0 comment="two words"
    # notify_kafka enable=off brokers= topic= …      switched off, unless a variable says otherwise
    api requests_max=0 sync_events=on

`enable` is absent where it is on. A line is parsed as that of `mc admin config set`.
"""

import re

from bucketcast.dynamic_targets.kvs import DEFAULT_ID, parse_line
from bucketcast.errors import ConfigErrors, did_you_mean
from bucketcast.migrate.parsed import ABOUT_THE_SERVER, Parsed, TargetId
from bucketcast.targets import kinds

NOTIFY = "notify_"
_VARIABLE = re.compile(r"#\s*(MINIO_[A-Z0-9_]\S*?)=(.*)")
_OFF = re.compile(r"#\s*(notify_([a-z]+)(?::\S+)?\s(?:.*\s)?enable=\"?off\b.*)")


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


def _read_line(text: str, where: str, parsed: Parsed) -> None:
    try:
        line = parse_line(text)
    except ConfigErrors as refused:
        for error in refused.errors:  # its key is text of the line, which may be a secret
            parsed.error(where, error.found, error.allowed)
        return
    known = [NOTIFY + kind for kind in kinds()]
    if line.system in known:
        target = TargetId(line.system.removeprefix(NOTIFY), line.id or DEFAULT_ID)
        parsed.store(where, target, dict(line.values))
    elif not line.system.startswith(NOTIFY):
        sync_events = line.values.get("sync_events") if line.system == "api" else None
        if sync_events:
            parsed.sync_events = sync_events
        exception = " except sync_events" if sync_events else ""
        parsed.leave_out(line.system + exception, ABOUT_THE_SERVER)
    else:
        parsed.error(
            where,
            f"unknown sub-system '{line.system}'",
            f"{did_you_mean(line.system, known)}correct or delete the line; supported are "
            f"{', '.join(known)}, and MinIO's other sub-systems are skipped",
        )
