"""`mc admin config`: targets as MinIO's configuration, and changes of dynamic targets."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from bucketcast import deployment as deployed
from bucketcast import targets
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.destination import TargetArn
from bucketcast.dynamic_targets.aws.factory import run_time_targets
from bucketcast.dynamic_targets.aws.targets import NoDynamicTargetError
from bucketcast.dynamic_targets.kvs import DEFAULT_ID, Line, parsed, written
from bucketcast.errors import ConfigError, ConfigErrors, did_you_mean
from bucketcast.settings.options import Option, options_of

REDACTED: Final = "*redacted*"
"""Replaces secrets in the output; as an input it leaves the secret unchanged."""
_NOTIFY: Final = "notify_"
_PRODUCTS: Final = {
    "amqp": "AMQP endpoints",
    "elasticsearch": "Elasticsearch endpoints",
    "kafka": "Kafka endpoints",
    "mqtt": "MQTT endpoints",
    "mysql": "MySQL databases",
    "nats": "NATS endpoints",
    "nsq": "NSQ endpoints",
    "postgres": "Postgres databases",
    "redis": "Redis datastores",
    "webhook": "webhook endpoints",
}
_API: Final = "api"
_ON: Final = "enable"


class AdminConfig:
    """The configuration of one deployment; `find` returns the current one."""

    def __init__(self, find: Callable[[], Deployed], aws: Aws) -> None:
        self._find = find
        self._aws = aws

    def get(self, key: str) -> str:
        """Return the lines of a sub-system, of all its targets or of one.

        Raises:
            ConfigErrors: the sub-system does not exist.
            NoDynamicTargetError: the target does not exist.
        """
        system, _, id_ = key.strip().partition(":")
        deployment = self._find()
        if system == _API:
            return self._api(deployment)
        kind = _kind(system)
        lines = [line for each, line in self._lines(deployment, kind) if id_ in ("", each.id)]
        if not lines and id_:
            raise NoDynamicTargetError(f"there is no target {system}:{id_}")
        return "\n".join(lines or [_unset(kind)]) + "\n"

    def export(self) -> str:
        """Return all lines, with those of targets in the file."""
        deployment = self._find()
        lines = [line for kind in targets.kinds() for _, line in self._lines(deployment, kind)]
        return "\n".join([self._api(deployment).rstrip("\n"), *lines]) + "\n"

    def set(self, text: str) -> None:
        """Create or change the dynamic target of a line; options it does not name stay.

        Raises:
            BucketcastError: it fails, or the target is not a dynamic target.
        """
        self._put(self._find(), parsed(text))

    def load(self, text: str) -> None:
        """Create and change dynamic targets from the lines of an export.

        Nothing is changed if a line is invalid or about a target of the file.

        Raises:
            BucketcastError: as `set`.
        """
        deployment = self._find()
        lines = [line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"]
        wanted = [line for line in map(parsed, lines) if line.system.startswith(_NOTIFY)]
        changed = [line for line in wanted if not self._is_so(deployment, line)]
        for line in changed:
            run_time_targets(deployment, self._aws).require_changeable(_arn(line))
        for line in changed:
            self._put(deployment, line)

    def reset(self, text: str) -> None:
        """Remove the dynamic target of `notify_KIND:ID`; its waiting events are kept.

        Raises:
            BucketcastError: there is none, or it is one of the file's.
        """
        arn = _arn(parsed(text))
        with aws_errors():
            run_time_targets(self._find(), self._aws).remove(arn)

    def help(self, system: str, key: str) -> dict[str, Any]:
        """Return the available options, as `mc` prints them."""
        if not system:
            every = [_help(f"{_NOTIFY}{kind}", _about(kind), "") for kind in targets.kinds()]
            return {"subSys": "", "description": "", "multipleTargets": False, "keysHelp": every}
        kind = _kind(system.partition(":")[0])
        keys = [
            _help(name, option.help, option.type, optional=not option.required)
            for name, option in _options(kind).items()
            if key in ("", name)
        ]
        return {
            "subSys": f"{_NOTIFY}{kind}",
            "description": _about(kind),
            "multipleTargets": True,
            "keysHelp": keys,
        }

    def _lines(self, deployment: Deployed, kind: str) -> Iterator[tuple[DeployedTarget, str]]:
        for each in (*deployment.targets, *deployment.resting):
            if each.kind != kind or (each.made and each.made.state == "kept"):
                continue
            values = self._shown(each)
            off = values.pop("enable", "on") != "on"
            yield each, written(f"{_NOTIFY}{kind}", each.id, values, off=off)

    def _shown(self, target: DeployedTarget) -> dict[str, str]:
        """Return all keys of a target with their values or defaults, without secrets."""
        stored = deployed.settings(target, self._aws)
        shown = {key: option.default for key, option in _options(target.kind).items()}
        secret = target.made.secret if target.made else ""
        for key, text in stored.items():
            hidden = secret and text.startswith(f"secret:{secret}#")
            shown[key] = REDACTED if hidden else text
        return shown

    def _is_so(self, deployment: Deployed, line: Line) -> bool:
        kind = _kind(line.system)
        for each in deployment.targets:
            if (each.kind, each.id) == (kind, line.id or DEFAULT_ID):
                shown = self._shown(each)
                return all(shown.get(key, "") == value for key, value in line.values.items())
        return False

    def _put(self, deployment: Deployed, line: Line) -> None:
        if line.system == _API:
            hint = "sync_events in bucketcast.toml, or MINIO_API_SYNC_EVENTS, and a deploy"
            raise ConfigErrors([ConfigError(_API, "is set by a deploy", hint)])
        kind = _kind(line.system)
        values = {key: text for key, text in line.values.items() if text != REDACTED}
        with aws_errors():
            made = run_time_targets(deployment, self._aws)
            made.put(kind, line.id or DEFAULT_ID, values, merge=True)

    def _api(self, deployment: Deployed) -> str:
        in_order = deployment.dynamic and deployment.dynamic.queue_end
        return written(_API, "", {"sync_events": "on" if in_order else "off"}) + "\n"


def _arn(line: Line) -> TargetArn:
    return TargetArn(id=line.id or DEFAULT_ID, type=targets.load(_kind(line.system)).arn_type)


def _kind(system: str) -> str:
    kind = system.removeprefix(_NOTIFY)
    if system.startswith(_NOTIFY) and kind in targets.kinds():
        return kind
    known = [_NOTIFY + each for each in targets.kinds()]
    allowed = f"{did_you_mean(system, known)}there are {', '.join([*known, _API])}"
    raise ConfigErrors([ConfigError(system, "unknown sub-system", allowed)])


def _options(kind: str) -> Mapping[str, Option]:
    """Return its own options, then the common ones; the line itself shows `enable`."""
    declared: Any = targets.load(kind).Settings
    own, every = declared.__annotations__, options_of(declared)
    return {key: every[key] for key in sorted(every, key=lambda key: key not in own) if key != _ON}


def _unset(kind: str) -> str:
    values = {key: option.default for key, option in _options(kind).items()}
    return written(f"{_NOTIFY}{kind}", "", values, off=True)


def _about(kind: str) -> str:
    return f"publish bucket notifications to {_PRODUCTS.get(kind, f'{kind} endpoints')}"


def _help(key: str, about: str, type_: str, *, optional: bool = True) -> dict[str, Any]:
    return {
        "key": key,
        "description": about,
        "optional": optional,
        "type": type_,
        "multipleTargets": not type_,
    }
