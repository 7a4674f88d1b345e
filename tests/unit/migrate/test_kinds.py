"""Every kind means the same here as in a line of an export."""

import tomllib
from typing import Any

import pytest

from bucketcast import targets
from bucketcast.migrate import files, merge, render
from bucketcast.settings.options import options_of
from tests.unit.migrate import samples


def meant(kind: str, texts: dict[str, str]) -> dict[str, Any]:
    """What the target reads, defaults included."""
    declared: Any = targets.load(kind).Settings
    texts_of = {
        key: texts.get(key) or option.default for key, option in options_of(declared).items()
    }
    return {
        key: option.parse(texts_of[key])
        for key, option in options_of(declared).items()
        if texts_of[key]
    }


def moved(text: str) -> render.Configuration:
    return render.configuration(merge.merge(files.read([("file", text)])))


def test_there_is_a_sample_of_every_kind() -> None:
    for each in (samples.EXPORTED, samples.MEANT):
        assert each.keys() >= set(targets.kinds())


@pytest.mark.parametrize("kind", targets.kinds())
def test_every_key_of_a_kind_is_imported(kind: str) -> None:
    made = moved(samples.export(kind))
    tables = tomllib.loads(made.toml)
    assert tables.pop("sync_events") == "on"
    assert tables.keys() == {f"notify_{kind}"}
    texts = tables[f"notify_{kind}"]["1"]
    assert texts.keys() <= samples.MEANT[kind].keys()
    if secret := samples.SECRET.get(kind):
        texts[secret] = samples.MEANT[kind][secret]
    assert meant(kind, texts) == meant(kind, samples.MEANT[kind])
    assert made.arns == (f"arn:minio:sqs::1:{targets.load(kind).arn_type}",)


@pytest.mark.parametrize("kind", targets.kinds())
def test_secrets_of_a_kind_become_references(kind: str) -> None:
    made = moved(samples.export(kind))
    key = samples.SECRET.get(kind)
    if key is None:
        assert made.secrets == ()
        return
    (stored,) = made.secrets
    assert stored.option == f"notify_{kind}.1.{key}"
    assert samples.MEANT[kind][key] not in made.toml + repr(made)
    assert f'{key} = "secret:{stored.name}"' in made.toml


def test_all_kinds_at_once() -> None:
    tables = tomllib.loads(moved(samples.export()).toml)
    assert {f"notify_{kind}" for kind in targets.kinds()} == tables.keys() - {"sync_events"}
