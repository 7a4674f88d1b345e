"""What every mirror tells of what it holds, and of what its guard knows beside that."""

from collections.abc import Iterable
from itertools import chain
from typing import cast

import pytest

from bucketcast.errors import DeliveryError, NotConnected
from bucketcast.event import Event, padded
from bucketcast.namespace.rows import MergedState, StoredRow
from bucketcast.shapes import minio
from bucketcast.targets.base import Mirror
from tests.contract.trial import DELETE, UNUSUAL_KEYS, Sender, Trial, bounded, event, events

TAGGED = "s3:ObjectCreated:PutTagging"
UPLOADS = "uploads/"


def of(put: Event) -> StoredRow:
    """The row that a put makes."""
    return StoredRow(
        minio.path(put),
        padded(put.sequencer),
        put.time,
        put.etag or "",
        put.size or 0,
        put.version_id,
    )


def asked(sender: Sender) -> Mirror:
    assert isinstance(sender.target, Mirror)
    return sender.target


def held(sender: Sender, prefix: str = UPLOADS, count: int = 3) -> list[StoredRow]:
    """All that is held below a prefix, each partition read by itself."""

    def read() -> Iterable[StoredRow]:
        mirror = asked(sender)
        return chain.from_iterable(
            [*mirror.stored_rows(partition, prefix)] for partition in mirror.partitions(count)
        )

    return sorted(bounded(lambda: list(read())), key=lambda each: each.path)


def known(sender: Sender, *keys: str) -> dict[str, MergedState]:
    return bounded(lambda: asked(sender).merged_states([UPLOADS + key for key in keys]))


def test_all_rows_are_held_once_by_some_share(mirror: Trial) -> None:
    batch = events(5_000)
    sender = mirror.sender()
    for start in range(0, len(batch), 1000):
        assert sender.send(batch[start : start + 1000]) == {}
    partitions = asked(sender).partitions(4)
    parts = [[*asked(mirror.sender()).stored_rows(partition, UPLOADS)] for partition in partitions]
    assert sorted(map(str, chain(*parts))) == sorted(map(str, map(of, batch)))
    assert all(len(part) < len(batch) for part in parts) or len(partitions) == 1


def test_a_row_tells_its_object(mirror: Trial) -> None:
    sender = mirror.sender()
    puts = [
        event("versioned", 2, version_id="3HL4kqtJlcpXroDTDmJ"),
        event("empty", 3, size=0),
        event("nothing said", 4, size=None, etag=None),
        event("large", 5, size=2**43),
    ]
    assert sender.send(puts) == {}
    assert held(sender) == sorted(map(of, puts), key=lambda each: each.path)


def test_unusual_keys_are_held_decoded(mirror: Trial) -> None:
    sender = mirror.sender()
    puts = [event(key, at) for at, key in enumerate(UNUSUAL_KEYS, 1)]
    assert sender.send(puts) == {}
    assert held(sender) == sorted(map(of, puts), key=lambda each: each.path)
    assert known(sender, *UNUSUAL_KEYS).keys() == {UPLOADS + key for key in UNUSUAL_KEYS}


@pytest.mark.parametrize("prefix", ["a", "a_b", "a%", "a*", "a?", "a[", "a\\", "a ", "ä", ""])
def test_a_prefix_is_taken_literally(mirror: Trial, prefix: str) -> None:
    keys = ["a", "a_b/1", "axb/1", "a%1", "a*1", "a?1", "a[1]", "a\\1", "a 1", "ä1", "b", "A_b"]
    sender = mirror.sender()
    elsewhere = [event(key, 1, bucket=bucket) for key in keys for bucket in ("upload", "uploads2")]
    assert sender.send([*(event(key, 1) for key in keys), *elsewhere]) == {}
    found = [each.path for each in held(sender, UPLOADS + prefix)]
    assert found == sorted(UPLOADS + key for key in keys if key.startswith(prefix))


def test_where_nothing_ever_came_nothing_is_held(mirror: Trial) -> None:
    sender = mirror.sender()
    assert held(sender) == []
    assert known(sender, "a") == {}
    assert mirror.arrivals() == []


def test_what_was_put_is_known_by_its_row(mirror: Trial) -> None:
    put = event("a", 5)
    sender = mirror.sender()
    assert sender.send([put]) == {}
    assert known(sender, "a", "b") == {"uploads/a": MergedState(of(put), padded("5"), put.time)}


def test_a_removal_is_known_where_no_row_is(mirror: Trial) -> None:
    gone = event("a", 7, DELETE)
    sender = mirror.sender()
    assert sender.send([event("a", 5), gone]) == {}
    assert held(sender) == []
    assert known(sender, "a") == {"uploads/a": MergedState(None, padded("7"), gone.time)}


def test_a_hidden_put_is_known(mirror: Trial) -> None:
    put = event("a", 5)
    sender = mirror.sender()
    assert sender.send([event("a", 9, DELETE, sequencer="")]) == {}
    assert sender.send([put]) == {}
    assert known(sender, "a") == {"uploads/a": MergedState(None, padded("5"), event("a", 9).time)}


def test_an_overlay_is_known(mirror: Trial) -> None:
    put, tagged = event("a", 5), event("a", 8, TAGGED, sequencer="", size=None, etag=None)
    sender = mirror.sender()
    assert sender.send([put, tagged]) == {}
    (found,) = known(sender, "a").values()
    assert (found.sequencer, found.time) == (padded("5"), tagged.time)
    assert found.row == StoredRow("uploads/a", padded("5"), tagged.time, "e5", 5)


def test_the_removal_of_a_version_is_known(mirror: Trial) -> None:
    sender = mirror.sender()
    old, gone = event("a", 5, version_id="null"), event("b", 4, version_id="null")
    named = event("c", 5, version_id="3HL4kqtJlcpXroDTDmJ")
    assert sender.send([old, gone, named]) == {}
    assert sender.send([event("a", 3, DELETE, version_id="null")]) == {}
    assert sender.send([event("b", 9, DELETE, version_id="null")]) == {}
    assert sender.send([event("c", 9, DELETE, version_id="3HL4kqtJlcpXroDTDmJ")]) == {}
    assert known(sender, "a") == {"uploads/a": MergedState(of(old), padded("5"), old.time)}
    assert known(sender, "b") == {"uploads/b": MergedState(None, padded("9"), event("b", 9).time)}
    # That version is gone for good, so that nothing has to be newer than its removal.
    assert known(sender, "c") == {"uploads/c": MergedState(None, padded("5"), named.time)}


def test_what_beats_all_that_is_known_mends_the_row(mirror: Trial) -> None:
    sender = mirror.sender()
    assert sender.send([event("hidden", 5), event("hidden", 9, DELETE)]) == {}
    assert sender.send([event("late", 9, DELETE, sequencer=""), event("late", 5)]) == {}
    assert sender.send([event("never", 9, DELETE)]) == {}
    assert sender.send([event("extra", 5), event("tagged", 5)]) == {}
    assert sender.send([event("tagged", 8, TAGGED, sequencer="")]) == {}
    assert sender.send([event("under", 5, version_id="v2")]) == {}
    assert sender.send([event("under", 9, DELETE, version_id="v2")]) == {}
    keys = ("hidden", "late", "never", "extra", "tagged", "new", "under")
    said = known(sender, *keys)
    mended = [
        _beating(said.get(UPLOADS + key), key, DELETE if key in ("extra", "tagged") else "")
        for key in keys
    ]
    assert sender.send(mended) == {}
    assert [each.path for each in held(sender)] == [
        UPLOADS + key for key in ("hidden", "late", "never", "new", "under")
    ]
    assert sender.send([event("under", 20, DELETE)]) == {}
    assert UPLOADS + "under" not in [each.path for each in held(sender)]


def _beating(known: MergedState | None, key: str, name: str) -> Event:
    sequencer = (known.sequencer if known else "") or "0"
    at = int(known.time[-4:-1]) + 1 if known else 1
    return event(key, at, *filter(None, [name]), sequencer=sequencer)


def test_a_value_that_is_no_record_is_a_row_that_says_nothing(mirror: Trial) -> None:
    sender = mirror.sender()
    assert sender.send([event("a", 5)]) == {}
    settings = mirror.texts()
    mirror.server.write(settings, "uploads/a", b'{"damaged": [1]}')
    assert [each for each in held(sender) if each.etag or each.size] == []


def test_a_server_that_is_away_is_said(mirror: Trial) -> None:
    sender = mirror.sender()
    assert sender.send([event("a", 5)]) == {}
    partition, *_ = asked(sender).partitions(1)
    mirror.server.kill()
    for call in (
        lambda: asked(sender).partitions(1),
        lambda: list(asked(sender).stored_rows(partition, UPLOADS)),
        lambda: asked(sender).merged_states(["uploads/a"]),
    ):
        with pytest.raises(DeliveryError) as raised:
            bounded(cast("object", call))  # type: ignore[arg-type]
        assert isinstance(raised.value, NotConnected)


def test_reading_may_stop_half_way(mirror: Trial) -> None:
    sender = mirror.sender()
    assert sender.send(events(10)) == {}
    partition, *_ = asked(sender).partitions(1)
    rows = asked(sender).stored_rows(partition, UPLOADS)
    next(iter(rows))
    del rows
    assert len(held(sender)) == 10
    assert sender.send([event("a", 20)]) == {}
