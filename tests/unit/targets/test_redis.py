"""The Redis target's settings."""

import pytest

from bucketcast.settings import options
from bucketcast.targets.redis import Target


def test_conflicting_options_are_refused() -> None:
    settings = {
        "address": "h",
        "key": "k",
        "tls_skip_verify": "on",
        "user": "u",
        "client_cert": "-----BEGIN CERTIFICATE-----",
    }
    problems = Target.check(options.read(Target.Settings, settings))
    assert [key for key, *_ in problems] == [
        "tls_skip_verify",
        "client_cert",
        "client_key",
        "password",
    ]


@pytest.mark.parametrize(
    ("address", "where"),
    [("h", "h:6379"), ("h:1", "h:1"), ("[::1]:7", "[::1]:7"), ("[::1]", "[::1]:6379")],
)
def test_where_contains_no_secret(address: str, where: str) -> None:
    settings = {"address": address, "key": "k", "password": "hunter2"}
    target = Target(options.read(Target.Settings, settings))
    assert target.where == f"{where}, hash k"
    assert "hunter2" not in repr(target.settings)
