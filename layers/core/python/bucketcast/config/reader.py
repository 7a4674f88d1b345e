"""Read and validate a configuration, collecting all errors."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bucketcast import targets
from bucketcast.config import alarms, ingest, pipeline, trail
from bucketcast.config.bucket import Bucket
from bucketcast.config.deployable import deploy_errors
from bucketcast.config.model import OPTIONAL, TABLES, Deployment
from bucketcast.config.pipeline import PipelineOptions, ScanConfig, ScanOptions
from bucketcast.config.stack import StackOptions
from bucketcast.config.tables import Tables
from bucketcast.config.target_reader import TargetReader
from bucketcast.errors import ConfigErrors, did_you_mean
from bucketcast.settings.options import options_of, read


class Reader:
    """Reads one configuration."""

    def __init__(
        self, source: Path | Mapping[str, Any], environ: Mapping[str, str], *, local: bool
    ) -> None:
        self._folder = source.parent if isinstance(source, Path) else Path()
        self._tables = Tables(local=local)
        self._environ = {name: text.strip() for name, text in environ.items() if text.strip()}
        self._document = self._parse(source) if isinstance(source, Path) else source

    def deployment(self, stack_name: str = "") -> Deployment:
        tables = self._tables
        stack = self._stack()
        buckets = dict(self._buckets())
        options = {name: self._table_options(name, declared) for name, declared in TABLES.items()}
        if options["trail"]:
            events = {name: bucket.access_events for name, bucket in buckets.items()}
            tables.notes += trail.notes(options["trail"], events)
        reader = TargetReader(tables, self._folder, stack.object_facts)
        topics = options["topics"]
        # Topics want facts by default; what the file itself asks for is meant.
        asks = topics is not None and topics.facts and "facts" in self._document.get("topics", {})
        if stack.object_facts == "off" and asks:
            tables.errors.append(ingest.facts_error("topics.facts"))
        target_configs = tuple(reader.read(self._document, self._environ))
        scans = dict(self._scans(options["pipeline"]))
        for name in TABLES.keys() - OPTIONAL:
            options[name] = options[name] or read(TABLES[name], {})  # what is wrong is an error
        if target_configs and not tables.local:
            tables.notes += [] if options["alarms"] else [alarms.NO_RECIPIENT]
        options["dynamic_targets"] = options["dynamic_targets"].with_kinds()
        deployment = Deployment(
            **vars(stack),
            **options,
            buckets=buckets,
            targets=target_configs,
            scans=scans,
            notes=tuple(dict.fromkeys(tables.notes)),
        )
        if stack_name:
            tables.errors += deploy_errors(deployment, stack_name, local=tables.local)
        if tables.errors:
            raise ConfigErrors(tables.errors)
        return deployment

    def _parse(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            reason = f"{error.strerror}".lower()
            self._tables.error(str(path), reason, "the path of a bucketcast.toml")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            self._tables.error(str(path), f"invalid TOML: {error}", "a TOML file in UTF-8")
        raise ConfigErrors(self._tables.errors)

    def _stack(self) -> StackOptions:
        keys = options_of(StackOptions)
        tables = ("bucket", "scan", *(f"notify_{k}" for k in targets.kinds()))
        known = sorted((*keys, *TABLES, *tables))
        table = {key: value for key, value in self._document.items() if key in keys}
        if sync := self._environ.get("MINIO_API_SYNC_EVENTS"):
            table["sync_events"] = sync
        options: StackOptions | None = self._tables.options(StackOptions, table, "")
        for key in (key for key in self._document if key not in known):
            allowed = f"{did_you_mean(key, known)}allowed are {', '.join(known)}"
            self._tables.error(key, "unknown key", allowed)
        # With all facts allowed, targets that want some add no second error.
        return options or read(StackOptions, {"object_facts": "all"})

    def _table_options(self, name: str, declared: type[Any]) -> Any:
        """Return the options of a table; None if there are errors, or if it is not there."""
        if name in OPTIONAL and name not in self._document:
            return None
        return self._tables.options(declared, self._document.get(name, {}), name)

    def _buckets(self) -> Iterator[tuple[str, Bucket]]:
        for name, table in self._tables.subtables(self._document, "bucket").items():
            where = f"bucket.{name}"
            self._check_bucket(name, where)
            bucket = self._tables.options(Bucket, table, where)
            if bucket is not None:
                yield name, bucket

    def _scans(self, jobs: PipelineOptions | None) -> Iterator[tuple[str, ScanConfig]]:
        # A pipeline table with errors of its own is not missing.
        pipeline_options = jobs or (
            read(PipelineOptions, {}) if "pipeline" in self._document else None
        )
        for name, table in self._tables.subtables(self._document, "scan").items():
            where = f"scan.{name}"
            self._check_bucket(name, where)
            values = self._tables.values(ScanOptions, table, where)
            self._tables.parse(ScanOptions, values, where)
            self._tables.errors += pipeline.scan_errors(name, values, pipeline_options)
            yield name, pipeline.scan(values)

    def _check_bucket(self, name: str, where: str) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", name):
            allowed = "3 to 63 of a-z, 0-9, '.' and '-'"
            self._tables.error(where, "invalid bucket name", allowed)
