"""Read the tables of targets: `[notify_<kind>.<id>]` with MinIO's keys, and `[….deploy]`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from bucketcast import targets
from bucketcast.config import encryption, variables
from bucketcast.config.function import Deploy, timeout_errors, url_errors
from bucketcast.config.ingest import facts_error
from bucketcast.config.tables import Tables
from bucketcast.config.target import NOT_FOR_THE_FUNCTION, TargetConfig
from bucketcast.errors import ConfigError
from bucketcast.limits import RETENTION_DAYS
from bucketcast.settings.egress import ANY
from bucketcast.settings.options import Option, options_of, read, validation_errors
from bucketcast.settings.types import REFERENCE
from bucketcast.targets.base import Target

TARGET_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")
TARGET_ID_RULE: Final = "1 to 32 of A-Z, a-z, 0-9, '_' and '-'"
_WORD: Final = re.compile(r"\w+")
_PLAIN: Final = (
    f"{REFERENCE}NAME of a secret in Secrets Manager; plain text is for a local deploy only"
)
_ENABLED: Final = {"on": "on", "1": "on", "t": "on", "true": "on", "enabled": "on"}
_DISABLED: Final = {"off": "off", "0": "off", "f": "off", "false": "off", "disabled": "off"}


class TargetReader:
    """Reads the targets of one configuration; files of certificates are below `folder`."""

    def __init__(self, tables: Tables, folder: Path, object_facts: str) -> None:
        self._tables = tables
        self._folder = folder
        self._object_facts = object_facts

    def read(
        self, document: Mapping[str, Any], environ: Mapping[str, str]
    ) -> Iterator[TargetConfig]:
        for kind in targets.kinds():
            declared: Any = targets.load(kind).Settings
            tables = self._tables.subtables(document, f"notify_{kind}")
            overrides, errors = variables.overrides(kind, options_of(declared), environ)
            self._tables.errors += errors
            for id in dict.fromkeys((*tables, *overrides)):  # noqa: A001 - MinIO's word
                where = f"notify_{kind}.{id}"
                table = tables.get(id, {})
                if not isinstance(table, dict):
                    self._tables.error(
                        where,
                        "found outside a target's table",
                        f"put a target's keys into a table [notify_{kind}.ID], with an id of yours",
                    )
                    continue
                if id not in tables and "enable" not in overrides[id]:
                    variable = variables.prefix(kind) + "ENABLE" + ("" if id == "_" else f"_{id}")
                    self._tables.error(
                        where,
                        "found in the environment only",
                        f"a table [{where}], or {variable}=on as in MinIO",
                    )
                    continue
                own = {key: value for key, value in table.items() if key != "deploy"}
                values = {**self._tables.values(declared, own, where), **overrides.get(id, {})}
                target = self._target(kind, id, values, table.get("deploy", {}))
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
        errors, notes = self._tables.errors, self._tables.notes
        if not TARGET_ID.fullmatch(id):
            self._tables.error(where, f"found the id {id!r}", TARGET_ID_RULE)
        values["enable"] = switch(values.get("enable", "on"))
        first_error = len(errors)
        target = self._parse(kind, id, values, deploy)
        if values["enable"] != "off":
            return target
        if target_errors := errors[first_error:]:
            # MinIO's own configuration lists targets that were never filled in.
            del errors[first_error:]
            notes.append(f"{where} is off and skipped as invalid: {target_errors[0]}")
            return None
        notes.append(f"{where} is off: its events are queued, for {RETENTION_DAYS} days")
        return target

    def _parse(
        self,
        kind: str,
        id: str,  # noqa: A002 - MinIO's word
        values: dict[str, str],
        table: Any,
    ) -> TargetConfig | None:
        where = f"notify_{kind}.{id}"
        target = targets.load(kind)
        declared: Any = target.Settings
        plain = self._replace_secrets(f"{kind}-{id}", values, options_of(declared), where)
        # The plain text is checked, not the reference that replaces it.
        texts = {key: plain.get(text.removeprefix(REFERENCE), text) for key, text in values.items()}
        errors, settings = setting_errors(target, texts, where)
        self._tables.errors += errors
        wrong = {error.key.removeprefix(f"{where}.") for error in errors}
        deploy = self._deploy(table, where, getattr(settings, "max_open_connections", 0))
        if deploy is not None and not self._tables.local:
            self._check_encryption(kind, where, values, deploy)
            if kind == "webhook" and "endpoint" not in wrong:
                self._check_endpoint(
                    f"{where}.endpoint", settings.endpoint, deploy, f"{where}.deploy"
                )
        if settings.facts and self._object_facts == "off":
            self._tables.errors.append(facts_error(f"{where}.facts"))
        if deploy is None:
            return None
        self._tables.notes += target.notes(settings)
        has_references = any(
            isinstance(value, str) and value.startswith(REFERENCE)
            for value in vars(settings).values()
        )
        if not has_references:
            longest = target(settings).max_send_seconds
            self._tables.errors += timeout_errors(longest, deploy, where)
        function_settings = {
            key: value
            for key, value in values.items()
            if value and key not in (*NOT_FOR_THE_FUNCTION, *wrong)
        }
        return TargetConfig(
            kind,
            id,
            function_settings,
            deploy,
            plain,
            enabled=values["enable"] != "off",
            facts=settings.facts,
        )

    def _check_encryption(
        self, kind: str, where: str, values: Mapping[str, str], deploy: Deploy
    ) -> None:
        self._tables.errors += encryption.validation_errors(
            where, values, f"{where}.deploy", confirmed=deploy.tls_skip_verify
        )
        self._tables.notes += encryption.notes(kind, where, values)

    def _check_endpoint(self, key: str, url: str, deploy: Deploy, table: str) -> None:
        # Other addresses are only noted: the same file serves a laptop, where they are right.
        self._tables.errors += url_errors(key, url, ANY, table)
        if not ANY.refusal_of_url(url):
            self._tables.notes += map(str, url_errors(key, url, deploy.egress, table))

    def _replace_secrets(
        self, target: str, values: dict[str, str], options: Mapping[str, Option], where: str
    ) -> dict[str, str]:
        """Replace files by their text and plain secrets by references; return the plain ones."""
        plain: dict[str, str] = {}
        for key, option in options.items():
            value = values.get(key, "")
            if not value or value.startswith(REFERENCE):
                continue
            if option.names_file(value):
                try:
                    value = values[key] = (self._folder / value).read_text(encoding="ascii")
                except (OSError, ValueError) as error:
                    # The path may be the key itself, so it is not shown.
                    reason = getattr(error, "strerror", None) or "not ASCII text"
                    allowed = f"{'the seed' if option.seed else 'PEM text'} or its path"
                    self._tables.error(f"{where}.{key}", f"cannot read file: {reason}", allowed)
                    del values[key]
                    continue
            if not option.hides(value):
                continue
            if self._tables.local:
                name = f"bucketcast/{target}/{key}"
                plain[name] = value
                values[key] = REFERENCE + name
            else:
                self._tables.error(f"{where}.{key}", "found plain text", _PLAIN)
        return plain

    def _deploy(self, table: Any, target: str, connections: int) -> Deploy | None:
        """Return the options; `max_concurrency` defaults to MinIO's `max_open_connections`."""
        where = f"{target}.deploy"
        values = self._tables.values(Deploy, table, where)
        if connections and not values.get("max_concurrency"):
            implied = {"max_concurrency": str(connections)}
            for error in validation_errors(Deploy, implied, ""):
                key = f"{target}.max_open_connections"
                self._tables.error(key, error.found, error.allowed)
                implied = {}
            values |= implied
        options: Deploy | None = self._tables.parse(Deploy, values, where)
        return options


def setting_errors(
    target: type[Target], values: Mapping[str, str], where: str
) -> tuple[list[ConfigError], Any]:
    """Return all errors of a target's settings, and the settings.

    In these, examples and defaults stand in for wrong values, so that what depends on others is
    checked at once; what would depend on a wrong value is no error yet.
    """
    declared: Any = target.Settings
    errors = list(validation_errors(declared, values, f"{where}."))
    wrong = {error.key.removeprefix(f"{where}.") for error in errors}
    examples = {
        key: option.example.strip('"') or f"the-{key}"
        for key, option in options_of(declared).items()
        if key in wrong and option.required
    }
    others = {key: text for key, text in values.items() if key not in wrong}
    settings = read(declared, {**others, **examples})
    errors += [
        ConfigError(f"{where}.{key}", *details)
        for key, *details in target.check(settings)
        if wrong.isdisjoint(_WORD.findall(" ".join((key, *details))))
    ]
    return errors, settings


def switch(value: str) -> str:
    """Return `on` or `off` for MinIO's words in `enable`, other text in lower case."""
    word = value.lower()
    return _ENABLED.get(word) or _DISABLED.get(word) or word
