"""An upgrade from release 1.0.0 replaces nothing that has a name or keeps something."""

from tests.infra.conftest import Make
from tests.unit.samples import RELEASED


def test_an_upgrade_keeps_outputs_and_what_has_a_name_or_content(make: Make) -> None:
    """CloudFormation makes the new one before the old one goes: both cannot have one name."""
    template = make(RELEASED["configuration"]).json
    replaced = {}
    for logical_id, (kind, *names) in RELEASED["resources"].items():
        now = template["Resources"].get(logical_id, {"Type": "", "Properties": {}})
        texts = [text for text in now["Properties"].values() if isinstance(text, str)]
        if now["Type"] != kind or not set(names) <= set(texts):
            replaced[logical_id] = (kind, *names)
    assert replaced == {}
    assert set(RELEASED["outputs"]) <= set(template["Outputs"])
