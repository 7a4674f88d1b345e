"""Read and validate a configuration, collecting all errors."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bucketcast import targets
from bucketcast.arn import Arn
from bucketcast.config import (
    alarms,
    encryption,
    entry,
    ingest,
    keys,
    limits,
    network,
    pipeline,
    runtime,
    source,
    topics,
    trail,
    variables,
)
from bucketcast.config.alarms import AlarmOptions
from bucketcast.config.entry import PLAIN, EntryConfig
from bucketcast.config.ingest import IngestOptions
from bucketcast.config.model import (
    LOG_RETENTION_DAYS,
    NOT_FOR_THE_FUNCTION,
    OBJECT_FACTS,
    Bucket,
    Deploy,
    Deployment,
    DeployOptions,
    RemovedOptions,
    TargetConfig,
)
from bucketcast.config.pipeline import PipelineOptions, ScanConfig, ScanOptions
from bucketcast.config.runtime import RuntimeConfig, RuntimeOptions
from bucketcast.config.source import SourceConfig
from bucketcast.config.topics import TopicOptions
from bucketcast.config.trail import TrailOptions
from bucketcast.delivery.queue_limit import limit_of
from bucketcast.delivery.retention import RETENTION_DAYS
from bucketcast.errors import ConfigError, ConfigErrors, did_you_mean
from bucketcast.settings.egress import ANY
from bucketcast.settings.options import REFERENCE, on_off, options_of, read, validation_errors
from bucketcast.topics.model import TopicDefaults

_WORDS = {dict: "a table", float: "a number with decimals"}
TARGET_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
TARGET_ID_RULE = "1 to 32 of A-Z, a-z, 0-9, '_' and '-'"
_ENABLED = {"on": "on", "1": "on", "t": "on", "true": "on", "enabled": "on"}
_DISABLED = {"off": "off", "0": "off", "f": "off", "false": "off", "disabled": "off"}


class Reader:
    """Reads one configuration; collects all errors."""

    def __init__(
        self, source: Path | Mapping[str, Any], environ: Mapping[str, str], *, local: bool
    ) -> None:
        self._folder = source.parent if isinstance(source, Path) else Path()
        self._local = local
        self._errors: list[ConfigError] = []
        self._notes: list[str] = []
        self._object_facts = "off"
        self._environ = {name: text.strip() for name, text in environ.items() if text.strip()}
        self._document = self._parse(source) if isinstance(source, Path) else source

    def deployment(self) -> Deployment:
        document = self._document
        sync = self._environ.get("MINIO_API_SYNC_EVENTS") or _text(
            document.get("sync_events", "off")
        )
        try:
            sync_events = bool(on_off(sync))
        except ValueError as error:
            self._wrong("sync_events", f"found {sync!r}", f"allowed is {error}")
            sync_events = False
        control = self._switch("control")
        kms_keys = document.get("kms_keys", [])
        self._errors += keys.validation_errors(kms_keys)
        kms_key = document.get("kms_key", "")
        self._errors += keys.key_errors(kms_key)
        nested = self._switch("nested")
        dashboard = self._switch("dashboard", "on")
        tracing = self._switch("tracing")
        log_retention_days = self._log_retention()
        self._object_facts = _text(document.get("object_facts", "all" if self._local else "off"))
        if self._object_facts not in OBJECT_FACTS:
            allowed = f"allowed is one of {', '.join(OBJECT_FACTS)}"
            self._wrong("object_facts", f"found {self._object_facts!r}", allowed)
        tables = {f"notify_{kind}" for kind in targets.kinds()}
        own = {
            "sync_events",
            "object_facts",
            "control",
            "kms_key",
            "kms_keys",
            "log_retention_days",
            "nested",
            "dashboard",
            "tracing",
            "bucket",
            "entry",
            "ingest",
            "alarms",
            "pipeline",
            "removed",
            "runtime",
            "scan",
            "source",
            "topics",
            "trail",
        }
        known = sorted(own | tables)
        for key in (key for key in document if key not in known):
            allowed = f"{did_you_mean(key, known)}allowed are {', '.join(known)}"
            self._wrong(key, "unknown key", allowed)
        buckets = dict(self._buckets(self._table(document, "bucket")))
        logged = self._trail(buckets)
        sources = self._source()
        posted = self._entry()
        alarm_options = self._alarms()
        found = tuple(self._targets())
        discard = self._discard({str(target.arn) for target in found})
        jobs = self._pipeline()
        scans = dict(self._scans(jobs))
        at_run_time = self._runtime()
        reserved, window = self._ingest()
        about_topics = self._topics()
        if self._errors:
            raise ConfigErrors(self._errors)
        if found and alarm_options is None and not self._local:
            self._notes.append(alarms.NOBODY)
        if found and not self._local:
            self._notes.append(ingest.note(reserved))
        notes = tuple(dict.fromkeys(self._notes))
        return Deployment(
            sync_events,
            buckets,
            found,
            notes,
            self._object_facts,
            posted,
            jobs,
            scans,
            alarm_options,
            at_run_time,
            discard,
            control=control,
            kms_key=kms_key,
            kms_keys=tuple(kms_keys),
            reserved=reserved,
            window=window,
            nested=nested,
            topics=about_topics,
            trail=logged.name,
            trail_selectors=logged.manage_selectors,
            bucket_events=logged.bucket_events,
            dashboard=dashboard,
            tracing=tracing,
            log_retention_days=log_retention_days,
            source=sources,
        )

    def _switch(self, key: str, default: str = "off") -> bool:
        """A key that is on or off."""
        found = _text(self._document.get(key, default))
        try:
            return bool(on_off(found))
        except ValueError as error:
            self._wrong(key, f"found {found!r}", f"allowed is {error}")
            return False

    def _log_retention(self) -> int:
        found = self._document.get("log_retention_days", 30)
        if type(found) is int and found in LOG_RETENTION_DAYS:
            return found
        allowed = ", ".join(map(str, LOG_RETENTION_DAYS))
        self._wrong("log_retention_days", f"found {found!r}", f"allowed is one of {allowed}")
        return 0

    def _parse(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            self._wrong(str(path), f"{error.strerror}".lower(), "the path of a bucketcast.toml")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            self._wrong(str(path), f"invalid TOML: {error}", "a TOML file in UTF-8")
        raise ConfigErrors(self._errors)

    def _buckets(self, tables: Mapping[str, Any]) -> Iterator[tuple[str, Bucket]]:
        for name, table in tables.items():
            where = f"bucket.{name}"
            self._named(name, where)
            bucket = self._read(Bucket, self._values(table, where), where)
            if bucket is not None:
                yield name, bucket

    def _trail(self, buckets: Mapping[str, Bucket]) -> TrailOptions:
        options: TrailOptions | None = self._table_of(
            TrailOptions, self._document.get("trail", {}), "trail"
        )
        if options is None:
            return read(TrailOptions, {})
        self._errors += trail.validation_errors(options)
        self._notes += trail.notes(options, buckets)
        return options

    def _source(self) -> SourceConfig:
        tables = self._table(self._document, "source")
        self._errors += source.unknown(tables)
        read = {
            name: self._table_of(declared, tables.get(name, {}), f"source.{name}")
            for name, declared in source.SOURCE_TABLES.items()
        }
        if None in read.values():
            return SourceConfig()
        found = SourceConfig(
            s3_accounts=read["s3"].accounts,
            sns_topics=read["sns"].topics,
            bus_accounts=read["eventbridge"].accounts,
        )
        self._errors += source.validation_errors(found)
        return found

    def _entry(self) -> EntryConfig | None:
        if "entry" not in self._document:
            return None
        found = entry.config(
            self._document["entry"], read=self._table_of, wrong=self._wrong, local=self._local
        )
        if found is not None:
            self._notes += entry.notes(found.sources, self._table(self._document, "bucket"))
        return found

    def _table_of(self, declared: type[Any], table: Any, where: str) -> Any:
        return self._read(declared, self._values(table, where), where)

    def _alarms(self) -> AlarmOptions | None:
        if "alarms" not in self._document:
            return None
        values = self._values(self._document["alarms"], "alarms")
        options: AlarmOptions | None = self._read(AlarmOptions, values, "alarms")
        self._errors += alarms.validation_errors(values)
        return options

    def _discard(self, there: set[str]) -> tuple[str, ...]:
        values = self._values(self._document.get("removed", {}), "removed")
        options: RemovedOptions | None = self._read(RemovedOptions, values, "removed")
        where = "removed.discard"
        for text in options.discard if options else ():
            try:
                Arn.parse(text)
            except ValueError as error:
                self._wrong(where, f"found {text!r}", f"the ARN of a target: {error}")
            if text in there:
                self._wrong(where, f"found {text!r}, which is configured", "only removed targets")
        return options.discard if options else ()

    def _pipeline(self) -> PipelineOptions | None:
        if "pipeline" not in self._document:
            return None
        values = self._values(self._document["pipeline"], "pipeline")
        options: PipelineOptions | None = self._read(PipelineOptions, values, "pipeline")
        if options is not None:
            self._errors += pipeline.validation_errors(options)
        return options

    def _runtime(self) -> RuntimeConfig:
        values = self._values(self._document.get("runtime", {}), "runtime")
        options: RuntimeOptions | None = self._read(RuntimeOptions, values, "runtime")
        if options is None:
            return RuntimeConfig()
        self._errors += runtime.validation_errors(options)
        return runtime.runtime(options, local=self._local)

    def _ingest(self) -> tuple[int, int]:
        """The calls at once that are kept free for ingest, and the seconds that it gathers for."""
        values = self._values(self._document.get("ingest", {}), "ingest")
        options: IngestOptions | None = self._read(IngestOptions, values, "ingest")
        if options is None:
            return 0, 0
        self._errors += ingest.validation_errors(options)
        if self._local and "reserved_concurrency" not in values:
            return 0, int(options.window)
        return options.reserved_concurrency, int(options.window)

    def _topics(self) -> TopicDefaults:
        values = self._values(self._document.get("topics", {}), "topics")
        options: TopicOptions | None = self._read(TopicOptions, values, "topics")
        if options is None:
            return TopicDefaults()
        self._errors += topics.validation_errors(options)
        return topics.defaults(options)

    def _scans(self, jobs: PipelineOptions | None) -> Iterator[tuple[str, ScanConfig]]:
        there = jobs or (read(PipelineOptions, {}) if "pipeline" in self._document else None)
        for name, table in self._table(self._document, "scan").items():
            where = f"scan.{name}"
            self._named(name, where)
            values = self._values(table, where)
            wrong = [
                *validation_errors(ScanOptions, values, f"{where}."),
                *pipeline.scan_mistakes(name, values, there),
            ]
            self._errors += wrong
            if not wrong:
                yield name, pipeline.scan(values)

    def _named(self, name: str, where: str) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", name):
            self._wrong(where, "invalid bucket name", "3 to 63 of a-z, 0-9, '.' and '-'")

    def _targets(self) -> Iterator[TargetConfig]:
        for kind in targets.kinds():
            declared: Any = targets.load(kind).Settings
            tables = dict(self._table(self._document, f"notify_{kind}"))
            overrides, wrong = variables.overrides(kind, options_of(declared), self._environ)
            self._errors += wrong
            for id in dict.fromkeys((*tables, *overrides)):  # noqa: A001 - MinIO's word
                where = f"notify_{kind}.{id}"
                table = tables.get(id, {})
                if not isinstance(table, dict):
                    self._wrong(
                        where,
                        "found outside a target's table",
                        f"put a target's keys into a table [notify_{kind}.ID], with an id of yours",
                    )
                    continue
                if id not in tables and "enable" not in overrides[id]:
                    variable = variables.prefix(kind) + "ENABLE" + ("" if id == "_" else f"_{id}")
                    self._wrong(
                        where,
                        "found in the environment only",
                        f"a table [{where}], or {variable}=on as in MinIO",
                    )
                    continue
                deploy = table.pop("deploy", {})
                values = {**self._values(table, where), **overrides.get(id, {})}
                target = self._target(kind, id, values, deploy)
                if target is not None:
                    yield target

    def _target(
        self,
        kind: str,
        id: str,  # noqa: A002 - MinIO's word
        values: dict[str, str],
        deploy: Any,
    ) -> TargetConfig | None:
        where = f"notify_{kind}.{id}"
        if not TARGET_ID.fullmatch(id):
            self._wrong(where, f"found the id {id!r}", TARGET_ID_RULE)
        values["enable"] = switch(values.get("enable", "on"))
        so_far = len(self._errors)
        made = self._checked(kind, id, values, deploy)
        if values["enable"] != "off":
            return made
        if wrong := self._errors[so_far:]:
            # MinIO's own configuration lists targets that nobody has ever filled in.
            del self._errors[so_far:]
            self._notes.append(f"{where} is off and skipped as invalid: {wrong[0]}")
            return None
        self._notes.append(f"{where} is off: its events are queued, for {RETENTION_DAYS} days")
        return made

    def _checked(
        self,
        kind: str,
        id: str,  # noqa: A002 - MinIO's word
        values: dict[str, str],
        deploy: Any,
    ) -> TargetConfig | None:
        where = f"notify_{kind}.{id}"
        target = targets.load(kind)
        plain = self._secrets(kind, id, values, where)
        # Checked is the text that was given, and not the reference in its place.
        given = {key: plain.get(text.removeprefix(REFERENCE), text) for key, text in values.items()}
        settings = self._read(target.Settings, given, where)
        made = self._deploy(deploy, where, getattr(settings, "max_open_connections", 0))
        if made is not None and not self._local:
            table, said = f"{where}.deploy", made.tls_skip_verify
            self._errors += encryption.validation_errors(where, values, table, is_said_there=said)
            self._notes += encryption.notes(kind, where, values)
            if kind == "webhook" and settings is not None:
                self._look_at_endpoint(f"{where}.endpoint", settings.endpoint, made, table)
        if settings is None or made is None:
            return None
        wrong = list(target.check(settings))
        for key, found, allowed in wrong:
            self._wrong(f"{where}.{key}", found, allowed)
        self._notes += target.notes(settings)
        unknown = any(
            isinstance(v, str) and v.startswith(REFERENCE) for v in vars(settings).values()
        )
        if not wrong and not unknown:
            self._errors += limits.time(target(settings).max_send_seconds, made, where)
        kept = {k: v for k, v in values.items() if v and k not in NOT_FOR_THE_FUNCTION}
        enabled, limit = values["enable"] != "off", None if wrong else limit_of(values)
        return TargetConfig(kind, id, kept, made, plain, enabled=enabled, queue_limit=limit)

    def _look_at_endpoint(self, key: str, url: str, made: Deploy, table: str) -> None:
        # The rest is noted only: the same file serves a laptop, where it is right.
        self._errors += network.refused_url(key, url, ANY, table)
        if not ANY.refusal_of_url(url):
            self._notes += map(str, network.refused_url(key, url, made.egress, table))

    def _secrets(
        self,
        kind: str,
        id: str,  # noqa: A002 - MinIO's word
        values: dict[str, str],
        where: str,
    ) -> dict[str, str]:
        """Replace files by their text and plain secrets by references; give the plain ones."""
        plain: dict[str, str] = {}
        declared: Any = targets.load(kind).Settings
        for key, known in options_of(declared).items():
            text = values.get(key, "")
            if not text or text.startswith(REFERENCE):
                continue
            if known.names_file(text):
                try:
                    text = values[key] = (self._folder / text).read_text(encoding="ascii")
                except (OSError, ValueError) as error:
                    # What stands for the path may be the key itself, so it is not shown.
                    why = getattr(error, "strerror", None) or "not ASCII text"
                    what = "the seed" if known.seed else "PEM text"
                    self._wrong(f"{where}.{key}", f"cannot read file: {why}", f"{what} or its path")
                    del values[key]
                    continue
            if not known.hides(text):
                continue
            if self._local:
                name = f"bucketcast/{kind}-{id}/{key}"
                plain[name] = text
                values[key] = REFERENCE + name
            else:
                self._wrong(f"{where}.{key}", "found plain text", PLAIN)
        return plain

    def _deploy(self, table: Any, target: str, connections: int) -> Deploy | None:
        where = f"{target}.deploy"
        values = self._values(table, where)
        options = self._read(DeployOptions, values, where)
        if options is None:
            return None
        said = "max_concurrency" in values
        facts = self._object_facts
        self._errors += limits.validation_errors(options, target, connections, facts, said=said)
        return limits.deploy(options, connections, said=said)

    def _read(self, declared: type[Any], values: Mapping[str, str], where: str) -> Any:
        errors = list(validation_errors(declared, values, f"{where}."))
        self._errors += errors
        return None if errors else read(declared, values)

    def _table(self, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        inner = table.get(key, {})
        if isinstance(inner, dict):
            return inner
        self._wrong(key, f"found {inner!r}", f"a table such as [{key}.NAME]")
        return {}

    def _values(self, table: Any, where: str) -> dict[str, str]:
        if not isinstance(table, dict):
            self._wrong(where, f"found {table!r}", f"a table [{where}]")
            return {}
        values = {}
        for key, value in table.items():
            if isinstance(value, dict | float) or (
                isinstance(value, list) and not all(isinstance(item, str) for item in value)
            ):
                found = f"found {_WORDS.get(type(value), 'a list of other than text')}"
                self._wrong(f"{where}.{key}", found, "text, a whole number or true|false")
            else:
                values[key] = _text(value)
        return values

    def _wrong(self, key: str, found: str, allowed: str) -> None:
        self._errors.append(ConfigError(key, found, allowed))


def switch(text: str) -> str:
    """`on` or `off` for what MinIO takes for them in `enable`; other text as it is."""
    word = text.lower()
    return _ENABLED.get(word) or _DISABLED.get(word) or word


def _text(value: Any) -> str:
    """A TOML value as it would stand in MinIO's configuration."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).strip()
