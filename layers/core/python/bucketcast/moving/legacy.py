"""The `config.json` of MinIO before its configuration became key=value lines (up to 2019).

Below `notify` stand the kinds, below each kind its targets by id, below each target its keys in
camel case, some of them in objects of their own::

    {"version": "33", "notify": {"nats": {"1": {"enable": true, "queueDir": "/home/events",
     "streaming": {"enable": true, "clusterID": "test-cluster"}}}}}

A key's present name follows by rule: `queueDir` is `queue_dir`, `streaming.clusterID` is
`streaming_cluster_id`, the `enable` of an object is the object's own name.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bucketcast import targets
from bucketcast.errors import did_you_mean
from bucketcast.moving.found import Found, TargetId, kind_of
from bucketcast.moving.known import ABOUT_THE_SERVER, IN_JSON, SECTIONS
from bucketcast.options import options_of

_SECOND = 1_000_000_000
_words = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def read(text: str, name: str, found: Found) -> None:
    """Read the document of the file of this name."""
    try:
        document = json.loads(text)
    except ValueError as error:
        found.wrong(name, f"no JSON: {error}", "the config.json of a MinIO server")
        return
    if not isinstance(document, dict) or not isinstance(document.get("notify"), dict):
        allowed = "a config.json with its section notify; export newer settings as lines: "
        found.wrong(name, "no section notify", f"{allowed}mc admin config export ALIAS")
        return
    for section in document.keys() - {"notify"}:
        if section in SECTIONS:
            found.leave_out(section, ABOUT_THE_SERVER)
        else:
            near = did_you_mean(section, SECTIONS)
            found.wrong(name, f"unknown section '{section}'", f"{near}correct it, or delete it")
    for key, ids in document["notify"].items():
        _read_kind(key, ids, f"{name}: notify.{key}", found)


def _read_kind(key: str, ids: Any, where: str, found: Found) -> None:
    kind = kind_of(key)
    if kind is None:
        known = [targets.load(each).arn_type for each in targets.kinds()]
        near = did_you_mean(key, known)
        allowed = f"{near}correct it, or delete it: there are {', '.join(known)}"
        found.wrong(where, "unknown kind", allowed)
        return
    for id_, values in _object(ids, where, found).items():
        settings = _object(values, f"{where}.{id_}", found)
        declared: Any = targets.load(kind).Settings
        durations = {key for key, known in options_of(declared).items() if known.type == "duration"}
        texts: dict[str, str] = {}
        for path, value in _leaves(settings):
            name = _name(path, options_of(declared))
            text = _text(value, duration=name in durations)
            if name not in texts or text not in ("", "off"):  # of two old names of one key
                texts[name] = text
        found.store(f"{where}.{id_}", TargetId(kind, id_), texts)


def _object(value: Any, where: str, found: Found) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    found.wrong(where, "found no object", "allowed is {…}")
    return {}


def _leaves(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _name(path: tuple[str, ...], options: Mapping[str, Any]) -> str:
    """The key that is meant by the way to it."""
    words = path[:-1] if len(path) > 1 and path[-1] == "enable" else path
    name = "_".join(_words.sub("_", word).lower() for word in words)
    return name if name in options else IN_JSON.get(name, name)


def _text(value: Any, *, duration: bool) -> str:
    """A value as it stands in MinIO's lines; a duration of Go's is a number of nanoseconds."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if duration and isinstance(value, int):
        whole, rest = divmod(value, _SECOND)
        return f"{value}ns" if rest else f"{whole}s"
    return "" if value is None else str(value)
