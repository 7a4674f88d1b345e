"""The order of events, and what makes two of them the same."""

import pytest

from bucketcast.event import padded, to_millis
from tests.unit.samples import event


@pytest.mark.parametrize(
    ("sequencer", "text"),
    [
        ("0055AED6DCD90281E5", "0" * 14 + "0055aed6dcd90281e5"),
        ("617f08299329d189", "0" * 16 + "617f08299329d189"),
        ("F", "0" * 31 + "f"),
        ("f" * 32, "f" * 32),
        ("", ""),
    ],
)
def test_sequencer_is_padded_on_the_left(sequencer: str, text: str) -> None:
    assert padded(sequencer) == text


def test_time_decides_between_equal_sequencers() -> None:
    put = event(sequencer="00AB", time="2026-03-14T09:00:00.000Z")
    tagged = event(sequencer="ab", time="2026-03-14T09:00:00.001Z")
    assert put.order < tagged.order


@pytest.mark.parametrize(
    ("time", "millis"),
    [
        ("2026-03-14T09:26:53.589Z", "2026-03-14T09:26:53.589Z"),
        ("2026-03-14T09:26:53Z", "2026-03-14T09:26:53.000Z"),
        ("2026-03-14T09:26:53.5Z", "2026-03-14T09:26:53.500Z"),
        ("2026-03-14T09:26:53.58Z", "2026-03-14T09:26:53.580Z"),
        ("2026-03-14T09:26:53.589999Z", "2026-03-14T09:26:53.589Z"),
        ("2026-03-14T09:26:53.000000001Z", "2026-03-14T09:26:53.000Z"),
    ],
)
def test_time_has_three_decimals(time: str, millis: str) -> None:
    assert to_millis(time) == millis


def test_id_stays_the_same_over_releases() -> None:
    """A change of this value lets every repeat across an update through."""
    fixed = event(request_id="D82B88E5F771F645", version_id="v1")
    assert fixed.id == "5bf683a0aa3821c3e7292f84"


def test_id_is_the_same_on_every_path() -> None:
    one = event(request_id="D82B88E5F771F645", sequencer="0055AED6DCD90281E5", size=1)
    other = event(request_id="D82B88E5F771F645", sequencer="55aed6dcd90281e5", region="eu")
    assert one.id == other.id


def test_id_without_request_comes_from_the_sequencer() -> None:
    assert event(sequencer="00AB").id == event(sequencer="ab").id
    assert event(sequencer="AB").id != event(sequencer="AC").id


def test_id_without_request_and_sequencer_comes_from_the_time() -> None:
    times = (f"2026-03-14T09:26:{second}.000Z" for second in ("53", "53", "54"))
    one, repeated, other = (event(sequencer="", time=time).id for time in times)
    assert one == repeated != other
