"""What the tests of MySQL share: why a target failed, and the server's variables."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from bucketcast.errors import DeliveryError
from bucketcast.event import Event
from bucketcast.targets.mysql import Target
from tests.contract.case import bounded
from tests.servers.mysql import MysqlServer


def refusal(target: Target, events: list[Event]) -> Exception:
    """Return the single reason why none of these arrived."""
    try:
        failures = bounded(lambda: target.send(events))
    except DeliveryError as error:
        return error
    assert failures.keys() == set(range(len(events)))
    (reason,) = set(failures.values())
    return reason


@contextmanager
def global_variable(server: MysqlServer, variable: str, value: str) -> Iterator[None]:
    """Change a global variable of the server until the block ends."""
    with closing(server.connect()) as connection, connection.cursor() as admin:
        admin.execute(f"SELECT @@GLOBAL.{variable}")
        previous = admin.fetchone()
        admin.execute(f"SET GLOBAL {variable} = {value}")
        try:
            yield
        finally:
            admin.execute(f"SET GLOBAL {variable} = %s", previous)
