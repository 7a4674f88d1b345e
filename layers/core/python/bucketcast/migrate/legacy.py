"""Parse MinIO's `config.json` from before its configuration became key=value lines (up to 2019).

Below `notify` stand the kinds, below each kind its targets by id, below each target its keys in
camel case, some of them in objects of their own::

    {"version": "33", "notify": {"nats": {"1": {"enable": true, "queueDir": "/home/events",
     "streaming": {"enable": true, "clusterID": "test-cluster"}}}}}

Today's name of a key follows by rule: `queueDir` is `queue_dir`, `streaming.clusterID` is
`streaming_cluster_id`, the `enable` of an object is the object's own name.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bucketcast import targets
from bucketcast.errors import did_you_mean
from bucketcast.migrate.minio_keys import ABOUT_THE_SERVER, IN_JSON, SECTIONS
from bucketcast.migrate.parsed import Parsed, TargetId, kind_of
from bucketcast.settings.options import options_of

_SECOND = 1_000_000_000
_words = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def read(text: str, name: str, parsed: Parsed) -> None:
    """Parse the document of the file with this name."""
    try:
        document = json.loads(text)
    except ValueError as error:
        parsed.error(name, f"invalid JSON: {error}", "the config.json of a MinIO server")
        return
    if not isinstance(document, dict) or not isinstance(document.get("notify"), dict):
        allowed = "a config.json with a section notify; for newer servers use "
        parsed.error(name, "missing section notify", f"{allowed}`mc admin config export ALIAS`")
        return
    for section in document.keys() - {"notify"}:
        if section in SECTIONS:
            parsed.leave_out(section, ABOUT_THE_SERVER)
        else:
            near = did_you_mean(section, SECTIONS)
            parsed.error(name, f"unknown section '{section}'", f"{near}correct or delete it")
    for key, ids in document["notify"].items():
        _read_kind(key, ids, f"{name}: notify.{key}", parsed)


def _read_kind(key: str, ids: Any, where: str, parsed: Parsed) -> None:
    kind = kind_of(key)
    if kind is None:
        known = [targets.load(each).arn_type for each in targets.kinds()]
        near = did_you_mean(key, known)
        allowed = f"{near}correct or delete it; allowed are {', '.join(known)}"
        parsed.error(where, "unknown kind", allowed)
        return
    for id_, values in _object(ids, where, parsed).items():
        settings = _object(values, f"{where}.{id_}", parsed)
        declared: Any = targets.load(kind).Settings
        durations = {
            key for key, option in options_of(declared).items() if option.type == "duration"
        }
        texts: dict[str, str] = {}
        for path, value in _leaves(settings):
            name = _name(path, options_of(declared))
            text = _text(value, duration=name in durations)
            if name not in texts or text not in ("", "off"):  # of two old names of one key
                texts[name] = text
        parsed.store(f"{where}.{id_}", TargetId(kind, id_), texts)


def _object(value: Any, where: str, parsed: Parsed) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    parsed.error(where, "found no JSON object", "allowed is {…}")
    return {}


def _leaves(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _name(path: tuple[str, ...], options: Mapping[str, Any]) -> str:
    """Return the key for a path in the document."""
    words = path[:-1] if len(path) > 1 and path[-1] == "enable" else path
    name = "_".join(_words.sub("_", word).lower() for word in words)
    return name if name in options else IN_JSON.get(name, name)


def _text(value: Any, *, duration: bool) -> str:
    """Return a value as in MinIO's lines; a Go duration is a number of nanoseconds."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if duration and isinstance(value, int):
        whole, rest = divmod(value, _SECOND)
        return f"{value}ns" if rest else f"{whole}s"
    return "" if value is None else str(value)
