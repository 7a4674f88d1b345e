"""What the AMQP target makes of a URL, and of the broker's confirms."""

import pytest

from bucketcast.settings.types import LoginUrl
from bucketcast.targets.amqp.address import parse
from bucketcast.targets.amqp.batch import Confirms


@pytest.mark.parametrize(
    ("url", "where", "login"),
    [
        ("amqp://h", "h:5672", ("PLAIN", "\0guest\0guest")),
        ("amqps://h", "h:5671", ("PLAIN", "\0guest\0guest")),
        ("amqp://u:p@h:1/", "h:1", ("PLAIN", "\0u\0p")),
        ("amqp://u@h/v", "h:5672 virtual host v", ("PLAIN", "\0u\0")),
        ("amqp://u%40x:p%2F%3A+@h/%2Fv%2Fw/x", "h:5672 virtual host /v/w/x", None),
        ("amqp://u%40x:p%2F%3A+@h/", "h:5672", ("PLAIN", "\0u@x\0p/:+")),
        ("amqp://u:p@h/%2F", "h:5672", ("PLAIN", "\0u\0p")),
        ("amqp://u:p@[::1]:7", "[::1]:7", ("PLAIN", "\0u\0p")),
        ("amqps://h/?auth_mechanism=EXTERNAL", "h:5671", ("EXTERNAL", "")),
        ("amqp://u:p@h?auth_mechanism=plain", "h:5672", ("PLAIN", "\0u\0p")),
    ],
)
def test_a_url_has_address_and_login(url: str, where: str, login: tuple[str, str] | None) -> None:
    address = parse(LoginUrl(url))
    assert str(address) == where
    assert address.login() == (login or address.login())
    assert "p/:+" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://h",
        "amqp:///v",
        "amqp://h?heartbeat=10",
        "amqp://h?auth_mechanism=gssapi",
        "amqp://h#x",
    ],
)
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        parse(LoginUrl(url))


def sent(count: int, first: int = 11) -> Confirms:
    """Messages with ids m0, m1 …, and tags from `first` on."""
    confirms = Confirms("broker", count)
    for index in range(count):
        confirms.sent(first + index, index, f"m{index}")
    return confirms


def test_messages_are_confirmed_alone_and_with_all_before() -> None:
    confirms = sent(6)
    confirms.settled(13, taken=True, and_before=False)
    confirms.settled(12, taken=True, and_before=True)
    assert (confirms.unconfirmed, len(confirms)) == ({3, 4, 5}, 3)
    confirms.settled(14, taken=False, and_before=True)
    confirms.settled(16, taken=True, and_before=True)
    assert (confirms.unconfirmed, set(confirms.failures), len(confirms)) == (set(), {3}, 0)


def test_what_is_returned_and_then_confirmed_has_failed() -> None:
    confirms = sent(3)
    confirms.sent(14, 3, "m1")  # the same event twice in a batch
    confirms.returned("m1", "NO_ROUTE (312)")
    confirms.settled(14, taken=True, and_before=True)
    assert (confirms.unconfirmed, set(confirms.failures), len(confirms)) == (set(), {1, 3}, 0)
    assert str(confirms.failures[1]).startswith("broker: NO_ROUTE (312): no queue takes it")


def test_late_answers_about_an_earlier_batch_confirm_nothing() -> None:
    confirms = sent(2)
    confirms.settled(10, taken=True, and_before=True)
    confirms.settled(9, taken=False, and_before=False)
    confirms.returned("unknown", "NO_ROUTE (312)")
    assert (confirms.unconfirmed, confirms.failures, len(confirms)) == ({0, 1}, {}, 2)
