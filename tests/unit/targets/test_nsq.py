"""The NSQ target's settings."""

import pytest

from bucketcast.settings.options import read
from bucketcast.targets.nsq import Target

PEM = "-----BEGIN CERTIFICATE-----"


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ({"topic": "a/b"}, ["topic"]),
        ({"topic": "ü"}, ["topic"]),
        ({"topic": "n" * 65}, ["topic"]),
        ({"topic": "#ephemeral"}, ["topic"]),
        ({"topic": "a#ephemeral#ephemeral"}, ["topic"]),
        ({"topic": "a\n"}, ["topic"]),
        ({"cert_authority": PEM}, ["cert_authority"]),
        ({"cert_authority": PEM, "tls": "on"}, []),
        ({"cert_authority": PEM, "tls_enable": "on"}, []),
        ({"client_cert": PEM, "tls": "on"}, ["client_key"]),
        ({"tls_skip_verify": "on"}, []),
        ({"topic": "secret:topic", "auth_secret": "secret:it"}, []),
    ],
)
def test_check_names_the_invalid_option(texts: dict[str, str], names: list[str]) -> None:
    settings = read(Target.Settings, {"nsqd_address": "h", "topic": "t", **texts})
    assert [key for key, *_ in Target.check(settings)] == names


def test_invalid_topic_is_reported_with_what_is_allowed() -> None:
    target = Target(read(Target.Settings, {"nsqd_address": "h", "topic": "a/b"}))
    ((key, problem, allowed),) = Target.check(target.settings)
    assert (key, problem) == ("topic", "found 'a/b'")
    assert "1 to 64 of a-z, A-Z, 0-9" in allowed


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"topic": "t#ephemeral"}, "nsqd never writes it to disk"),
        ({"tls_skip_verify": "on"}, "does nothing while tls is off"),
        ({"queue_dir": "/home/events"}, "the target's SQS queue stores waiting events"),
    ],
)
def test_notes_name_settings_that_lose_events_or_do_nothing(
    texts: dict[str, str], expected: str
) -> None:
    plain = {"nsqd_address": "h", "topic": "t"}
    (note,) = Target.notes(read(Target.Settings, {**plain, **texts}))
    assert expected in note
    assert Target.notes(read(Target.Settings, plain)) == []


@pytest.mark.parametrize(
    ("address", "where"),
    [("h", "h:4150"), ("h:1", "h:1"), ("[::1]:7", "[::1]:7"), ("[::1]", "[::1]:4150")],
)
def test_where_has_nsqds_default_port(address: str, where: str) -> None:
    texts = {"nsqd_address": address, "topic": "t", "auth_secret": "hunter2"}
    assert Target(read(Target.Settings, texts)).where == f"{where}, topic t"
