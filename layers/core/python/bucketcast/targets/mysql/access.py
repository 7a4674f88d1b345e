"""The format `access`: a row for each event, appended."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bucketcast.event import Event
from bucketcast.shapes import Shape
from bucketcast.targets.mysql import sql
from bucketcast.targets.mysql.client import Client
from bucketcast.targets.mysql.names import Names

_TO_THE_SECOND = len("2026-01-02T03:04:05")


class Item(NamedTuple):
    """The row of an event in SQL."""

    indexes: Sequence[int]
    row: bytes


def item(index: int, event: Event, shape: Shape) -> Item:
    """Return the item of an event.

    Raises:
        UnicodeEncodeError: it holds what is no Unicode text.
    """
    # Cut here: what a column without fractions does with them is not the same in both products.
    time = event.time[:_TO_THE_SECOND].encode()
    return Item([index], sql.row(sql.quoted(time), sql.quoted(shape.value(event))))


def deliver(connection: Client, names: Names, items: Iterable[Item]) -> None:
    """Append and commit."""
    connection.say(sql.append(names, (each.row for each in items)))
    connection.commit()
