"""The suite itself: each waiver is used, and its search for secrets finds them."""

import ast
from pathlib import Path

from tests import servers
from tests.contract.case import SECRET_MARK, Case, in_each_shape, layouts
from tests.contract.waivers import WAIVERS


def test_waivers_name_existing_tests_and_kinds() -> None:
    existing = {
        existing_name
        for kind in servers.kinds()
        for existing_name in (
            kind,
            *servers.names(kind),
            *map(str, layouts(kind)),
            *map(str, in_each_shape(kind)),
        )
    }
    tests = {
        node.name
        for file in Path(__file__).parent.glob("test_targets_*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    for name, test in WAIVERS:
        assert name in existing
        assert test in tests


def test_secrets_of_the_servers_can_be_found(case: Case) -> None:
    """The fixtures search all output for this mark, so every secret must contain it."""
    for settings in (case.server.settings(), case.server.wrong_password_settings()):
        secrets = [value for key, value in settings.items() if case.options[key].secret]
        assert any(SECRET_MARK in value for value in secrets)
        assert not any(
            SECRET_MARK in value for key, value in settings.items() if not case.options[key].secret
        )
