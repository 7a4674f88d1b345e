"""The suite itself: each waiver is used, and its search for secrets finds them."""

import ast
from pathlib import Path

from tests import servers
from tests.contract.trial import MARK_OF_SECRETS, Trial, in_each_shape, layouts
from tests.contract.waivers import WAIVERS


def test_waivers_are_about_tests_and_kinds_that_exist() -> None:
    existing = {
        each
        for kind in servers.kinds()
        for each in (
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
    for about, test in WAIVERS:
        assert about in existing
        assert test in tests


def test_secrets_of_the_servers_can_be_found(trial: Trial) -> None:
    """The fixtures look for this mark in all that was said: it has to be in what is secret."""
    for texts in (trial.server.settings(), trial.server.wrong_password_settings()):
        secret = [text for key, text in texts.items() if trial.options[key].secret]
        assert any(MARK_OF_SECRETS in text for text in secret)
        assert not any(
            MARK_OF_SECRETS in text for key, text in texts.items() if not trial.options[key].secret
        )
