"""Every kind means the same here as in a line of an export."""

import tomllib
from typing import Any

import pytest

from bucketcast import targets
from bucketcast.dynamic_targets.kvs import parse_line
from bucketcast.migrate import files, merge, render
from bucketcast.settings.options import options_of
from tests.unit.migrate import samples


@pytest.mark.parametrize("kind", targets.kinds())
def test_every_key_of_a_kind_is_imported_and_its_secret_becomes_a_reference(kind: str) -> None:
    line = f"notify_{kind}:1 {samples.EXPORTED[kind]}"
    made = render.configuration(merge.merge(files.read([("file", line)])))
    imported = tomllib.loads(made.toml)[f"notify_{kind}"]["1"]
    declared: Any = targets.load(kind).Settings
    references = {}
    for key, text in parse_line(line).values.items():
        option = options_of(declared)[key]
        if not text or key in ("queue_dir", "queue_limit"):
            assert key not in imported
        elif option.hides(text):
            references[f"notify_{kind}.1.{key}"] = imported[key].removeprefix("secret:")
            assert text not in made.toml + repr(made)
        else:
            assert option.parse(imported.get(key) or option.default) == option.parse(text)
    assert {stored.option: stored.name for stored in made.secrets} == references
    assert len(references) == (kind != "nsq")
    assert made.arns == (f"arn:minio:sqs::1:{targets.load(kind).arn_type}",)
