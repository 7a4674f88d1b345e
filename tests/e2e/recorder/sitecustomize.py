"""Lets functions and jobs of the local AWS write down what they call: Python imports this first.

`BUCKETCAST_CALLS` names a folder; each process writes `<name>-<pid>.jsonl` into it: a line of
`[name, service, operation, parameters]` a call. Nothing else of a function or job is changed. What
Spark itself calls, by S3A and Java, is not seen.
"""

import importlib.abc
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

_CALLER = "botocore.client"


_NAME = os.environ.get("AWS_LAMBDA_FUNCTION_NAME") or os.environ.get("BUCKETCAST_JOB")


def _shown(value: Any) -> Any:
    """Parameters in which bytes are as many spaces: only their number matters."""
    if isinstance(value, dict):
        return {str(key): _shown(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(each) for each in value]
    if isinstance(value, bytes):
        return " " * len(value)
    plain = value is None or isinstance(value, str | int | float)
    return value if plain else type(value).__name__


def record(module: Any, function: str, folder: Path) -> None:
    """Let `botocore.client` write what it calls into a file of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = module.BaseClient._make_api_call
    file = folder / f"{function}-{os.getpid()}.jsonl"

    def recorded(self: Any, operation: str, parameters: Any) -> Any:
        service = self.meta.service_model.service_name
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps([function, service, operation, _shown(parameters)]) + "\n")
        return plain(self, operation, parameters)

    module.BaseClient._make_api_call = recorded


class _Loader(importlib.abc.Loader):
    def __init__(self, plain: importlib.abc.Loader) -> None:
        self._plain = plain

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._plain.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._plain.exec_module(module)
        record(module, str(_NAME), Path(os.environ["BUCKETCAST_CALLS"]))


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for botocore, which comes long after this."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != _CALLER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec and spec.loader:
            spec.loader = _Loader(spec.loader)
        return spec


if os.environ.get("BUCKETCAST_CALLS") and _NAME:
    sys.meta_path.insert(0, _Finder())
