"""The webhook target's settings."""

import tomllib
from pathlib import Path

import pytest

from bucketcast import __version__
from bucketcast.settings import options
from bucketcast.targets.webhook import Target


def test_the_version_that_is_sent_is_the_packages() -> None:
    project = Path(__file__).parents[3] / "pyproject.toml"
    assert tomllib.loads(project.read_text())["project"]["version"] == __version__


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"auth_token": "three of them"}, "auth_token"),
        ({"client_cert": "-----BEGIN CERTIFICATE-----"}, "client_key"),
        ({"client_key": "-----BEGIN PRIVATE KEY-----"}, "client_cert"),
        ({"endpoint": "https://example.org/höök"}, "endpoint"),
        ({"timeout": "0"}, "timeout"),
        ({"timeout": "1h"}, "timeout"),
        ({"in_flight": "0"}, "in_flight"),
        ({"in_flight": "901"}, "in_flight"),
        ({}, None),
        (
            {"auth_token": "secret:a token", "client_cert": "secret:c", "client_key": "secret:k"},
            None,
        ),
        ({"endpoint": "secret:e", "timeout": "secret:t", "in_flight": "secret:n"}, None),
    ],
)
def test_options_are_checked(settings: dict[str, str], key: str | None) -> None:
    parsed = options.read(Target.Settings, {"endpoint": "https://example.org/", **settings})
    assert [problem[0] for problem in Target.check(parsed)] == ([key] if key else [])
