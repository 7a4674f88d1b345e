"""The table `[dynamic_targets]`: the kinds that dynamic targets may have."""

import pytest

from bucketcast.targets import kinds
from tests.unit.config.folder import HOOK, Folder


@pytest.mark.parametrize(
    ("text", "local", "expected"),
    [
        ("", False, ()),
        ("", True, kinds()),
        ('[dynamic_targets]\nkinds = ["redis", "nats", "redis"]', True, ("nats", "redis")),
        ('[dynamic_targets]\nkinds = "off"', True, ()),
        ('[dynamic_targets]\nkinds = "all"', False, kinds()),
        ("[dynamic_targets]\nkinds = []", False, ()),
    ],
)
def test_kinds(folder: Folder, text: str, expected: tuple[str, ...], *, local: bool) -> None:
    assert folder.load(text, local=local).dynamic_targets.kinds == expected


@pytest.mark.parametrize(
    ("kinds_", "problem"),
    [
        ('"webhok"', "found 'webhok'; allowed is one of "),
        ('["webhook", "all"]', "found webhook, all; all and off allow no other kind"),
    ],
)
def test_kinds_that_cannot_be_are_refused(folder: Folder, kinds_: str, problem: str) -> None:
    refusal = folder.problem(f"[dynamic_targets]\nkinds = {kinds_}")
    assert refusal.startswith(f"dynamic_targets.kinds: {problem}")


@pytest.mark.parametrize("entry", ["169.254.169.254", "10.0.0.1/8", "a b"])
def test_invalid_allow_private_is_refused(folder: Folder, entry: str) -> None:
    for table in ("dynamic_targets", "notify_webhook.primary.deploy"):
        text = f'{HOOK}[{table}]\nallow_private = ["hooks.internal", "{entry}"]'
        problem = folder.problem(text)
        assert problem.startswith(f"{table}.allow_private: found '{entry}'; allowed is a host")
