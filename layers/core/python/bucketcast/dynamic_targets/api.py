"""`mc admin config`: targets as MinIO's configuration, and changes of dynamic targets."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from bucketcast import deployment as deployed
from bucketcast import targets
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.destination import TargetArn
from bucketcast.dynamic_targets.aws.factory import dynamic_targets_of
from bucketcast.dynamic_targets.aws.targets import NoDynamicTargetError
from bucketcast.dynamic_targets.kvs import DEFAULT_ID, REDACTED, Line, format_line, parse_line
from bucketcast.errors import ConfigError, ConfigErrors, did_you_mean
from bucketcast.settings.options import Option, own_first

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
"""What MinIO's guide calls them."""
_API: Final = "api"
_ON: Final = "enable"


class AdminConfig:
    """The configuration of one deployment; `find` reads the deployment."""

    def __init__(self, find: Callable[[], Deployed], aws: Aws) -> None:
        self._find = find
        self._aws = aws

    def get(self, key: str) -> str:
        """Return the lines of a sub-system, for all its targets or one.

        Raises:
            ConfigErrors: the sub-system does not exist.
            NoDynamicTargetError: the target does not exist.
        """
        system, _, id_ = key.strip().partition(":")
        deployment = self._find()
        if system == _API:
            return self._api(deployment)
        kind = _kind(system)
        lines = [line for target, line in self._lines(deployment, kind) if id_ in ("", target.id)]
        if not lines and id_:
            raise NoDynamicTargetError(f"there is no target {system}:{id_}")
        return "\n".join(lines or [_unset(kind)]) + "\n"

    def export(self) -> str:
        """Return all lines, with those of deployed targets."""
        deployment = self._find()
        lines = [line for kind in targets.kinds() for _, line in self._lines(deployment, kind)]
        return "\n".join([self._api(deployment).rstrip("\n"), *lines]) + "\n"

    def set(self, text: str) -> list[Line]:
        """Create or change the dynamic target of a line; keep options that the line does not name.

        Return the line, as all changes return theirs.

        Raises:
            BucketcastError: the line is invalid, the target is deployed, or AWS refused.
        """
        line = parse_line(text)
        self._put(self._find(), line)
        return [line]

    def load(self, text: str) -> list[Line]:
        """Create and change dynamic targets from the lines of an export.

        Change nothing if a line is invalid, or changes a deployed target.

        Raises:
            BucketcastError: as for `set`.
        """
        deployment = self._find()
        lines = [line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"]
        parsed_lines = [line for line in map(parse_line, lines) if line.system.startswith(_NOTIFY)]
        changed = [line for line in parsed_lines if not self._is_unchanged(deployment, line)]
        for line in changed:
            dynamic_targets_of(deployment, self._aws).require_changeable(_arn(line))
        for line in changed:
            self._put(deployment, line)
        return changed

    def reset(self, text: str) -> list[Line]:
        """Remove the dynamic target of `notify_KIND:ID`, but keep its waiting events.

        Raises:
            BucketcastError: the target does not exist, or is deployed.
        """
        line = parse_line(text)
        with aws_errors():
            dynamic_targets_of(self._find(), self._aws).remove(_arn(line))
        return [line]

    def help(self, system: str, key: str) -> dict[str, Any]:
        """Return the available options in the form that `mc` prints."""
        if not system:
            systems = [
                _help(f"{_NOTIFY}{kind}", _description(kind), "") for kind in targets.kinds()
            ]
            return {"subSys": "", "description": "", "multipleTargets": False, "keysHelp": systems}
        kind = _kind(system.partition(":")[0])
        keys = [
            _help(name, option.help, option.type, optional=not option.required)
            for name, option in _options(kind).items()
            if key in ("", name)
        ]
        return {
            "subSys": f"{_NOTIFY}{kind}",
            "description": _description(kind),
            "multipleTargets": True,
            "keysHelp": keys,
        }

    def _lines(self, deployment: Deployed, kind: str) -> Iterator[tuple[DeployedTarget, str]]:
        for target in deployment.all_targets:
            if target.kind != kind or target.is_topic or target.state == "kept":
                continue
            values = self._values(target)
            off = values.pop("enable", "on") != "on"
            yield target, format_line(f"{_NOTIFY}{kind}", target.id, values, off=off)

    def _values(self, target: DeployedTarget) -> dict[str, str]:
        """Return the values or defaults of all keys of a target, without secrets."""
        stored = deployed.settings(target, self._aws)
        values = {key: option.default for key, option in _options(target.kind).items()}
        secret = target.dynamic.secret if target.dynamic else ""
        for key, value in stored.items():
            hidden = secret and value.startswith(f"secret:{secret}#")
            values[key] = REDACTED if hidden else value
        return values

    def _is_unchanged(self, deployment: Deployed, line: Line) -> bool:
        kind = _kind(line.system)
        for target in deployment.targets:
            if (target.kind, target.id) == (kind, line.id or DEFAULT_ID):
                current = self._values(target)
                return all(current.get(key, "") == value for key, value in line.values.items())
        return False

    def _put(self, deployment: Deployed, line: Line) -> None:
        if line.system == _API:
            hint = "sync_events in bucketcast.toml, or MINIO_API_SYNC_EVENTS, and a deploy"
            raise ConfigErrors([ConfigError(_API, "is set by a deploy", hint)])
        kind = _kind(line.system)
        values = {key: value for key, value in line.values.items() if value != REDACTED}
        with aws_errors():
            dynamic_targets = dynamic_targets_of(deployment, self._aws)
            dynamic_targets.put(kind, line.id or DEFAULT_ID, values, merge=True)

    def _api(self, deployment: Deployed) -> str:
        sync_events = "on" if deployment.dynamic.queue_end else "off"
        return format_line(_API, "", {"sync_events": sync_events}) + "\n"


def _arn(line: Line) -> TargetArn:
    return TargetArn(id=line.id or DEFAULT_ID, type=targets.load(_kind(line.system)).arn_type)


def _kind(system: str) -> str:
    kind = system.removeprefix(_NOTIFY)
    if system.startswith(_NOTIFY) and kind in targets.kinds():
        return kind
    known = [_NOTIFY + kind_name for kind_name in targets.kinds()]
    allowed = f"{did_you_mean(system, known)}there are {', '.join([*known, _API])}"
    raise ConfigErrors([ConfigError(system, "unknown sub-system", allowed)])


def _options(kind: str) -> Mapping[str, Option]:
    """Return a kind's own options, then the common ones, without `enable`."""
    options = own_first(targets.load(kind).Settings)
    return {key: option for key, option in options.items() if key != _ON}


def _unset(kind: str) -> str:
    values = {key: option.default for key, option in _options(kind).items()}
    return format_line(f"{_NOTIFY}{kind}", "", values, off=True)


def _description(kind: str) -> str:
    return f"publish bucket notifications to {_PRODUCTS[kind]}"


def _help(key: str, description: str, type_: str, *, optional: bool = True) -> dict[str, Any]:
    return {
        "key": key,
        "description": description,
        "optional": optional,
        "type": type_,
        "multipleTargets": not type_,
    }
