"""An upgrade from release 1.0.0 replaces nothing that has a name or keeps something."""

import json
from collections.abc import Mapping
from typing import Any

from tests.infra.conftest import Make
from tests.infra.resolved import Resolved
from tests.unit.samples import RELEASED


def test_an_upgrade_replaces_nothing_with_a_name_or_content(make: Make) -> None:
    """CloudFormation makes the new one before the old one goes: both cannot have one name."""
    resources = make(RELEASED["configuration"]).json["Resources"]
    replaced = {
        logical_id: was
        for logical_id, was in RELEASED["resources"].items()
        if was != _type_and_names(resources.get(logical_id, {}))[: len(was)]
    }
    assert replaced == {}


def test_an_upgrade_keeps_the_outputs_and_their_fields(make: Make) -> None:
    template = make(RELEASED["configuration"]).json
    outputs = Resolved({"Resources": template["Outputs"]}).resources
    for name, was in RELEASED["outputs"].items():
        assert _fields(was) <= _fields(outputs[name]["Value"]), name


def _type_and_names(resource: Mapping[str, Any]) -> list[str]:
    properties = resource.get("Properties", {}).items()
    names = [text for key, text in properties if key.endswith("Name") and isinstance(text, str)]
    return [resource.get("Type", ""), *names]


def _fields(output: str) -> set[str]:
    """Return the names of the fields of an output that is a JSON object."""
    return set(json.loads(output)) if output.startswith("{") else set()
