"""Fixtures that run a test for every kind that has a server.

===========  ======================================================================================
case    once for each layout: for each server, and each choice of the kind's option `format`
mirror  as `case`, only the layouts that keep a row an object
merged  as `mirror`, by one server of each kind: the rules of its rows are ours
log     as `case`, only those that keep every event
formatted  as `case`, only kinds with a choice
shaped  as `case`, each in every dialect (option `shape`) that the layout supports
server_case  once for each server, in its first layout: for tests that do not depend on the layout
resolved_case  as `server_case`, only kinds that can be told the addresses of a name
readable  as `case`, only those that `examples/consume.py` reads from a server
resumable  as `readable`, only those that keep what one reader has not confirmed
===========  ======================================================================================
"""

import logging
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

from bucketcast import targets
from bucketcast.targets.base.tables import TableTarget
from examples.consume import READERS
from tests import servers
from tests.contract.case import Case, Layout, in_each_shape, layouts
from tests.contract.waivers import WAIVERS
from tests.servers import Server


def _first_of_each_server(kind: str) -> list[Layout]:
    return [next(group) for _, group in groupby(layouts(kind), lambda layout: layout.server)]


RESOLVES_BY_ITSELF = "kafka"
"""librdkafka, which neither takes addresses nor a connected socket."""
RESUMABLE = "mqtt", "nats-jetstream", "nsq"


def _is_readable(layout: Layout) -> bool:
    served = {reader.__name__ for reader in READERS} - {"webhook"}
    return layout.kind in served and layout.server != "nats-streaming"


def _is_table_mirror(layout: Layout) -> bool:
    return layout.mirrors and issubclass(targets.load(layout.kind), TableTarget)


CHOICES: dict[str, Callable[[str], list[Layout]]] = {
    "case": lambda kind: list(layouts(kind)),
    "mirror": lambda kind: [each for each in layouts(kind) if each.mirrors],
    "merged": lambda kind: [each for each in layouts(kind) if each.mirrors][:1],
    "table_mirror": lambda kind: [each for each in layouts(kind) if _is_table_mirror(each)],
    "log": lambda kind: [each for each in layouts(kind) if not each.mirrors],
    "formatted": lambda kind: [each for each in layouts(kind) if each.format],
    "shaped": lambda kind: list(in_each_shape(kind)),
    "server_case": _first_of_each_server,
    "resolved_case": lambda kind: [] if kind == RESOLVES_BY_ITSELF else _first_of_each_server(kind),
    "readable": lambda kind: [each for each in layouts(kind) if _is_readable(each)],
    "resumable": lambda kind: [each for each in layouts(kind) if each.server in RESUMABLE],
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kind", choices=servers.kinds(), help="only this kind's contract tests")


def pytest_configure(config: pytest.Config) -> None:
    """kafka-python, which only reads here, leaves a socket to the collector as it closes."""
    if chosen(config) == ["kafka"]:
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")


def chosen(config: pytest.Config) -> list[str]:
    only = config.getoption("--kind", None)
    return [only] if only else servers.kinds()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what is particular to other kinds: their clients may not be there."""
    others = set(servers.kinds()) - set(chosen(config))
    words = collection_path.stem.split("_")
    return True if words[0] == "test" and others.intersection(words[1:2]) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    kinds = chosen(metafunc.config)
    for name, choice in CHOICES.items():
        if name in metafunc.fixturenames:
            layouts_ = [layout for kind in kinds for layout in choice(kind)]
            metafunc.parametrize(name, layouts_, indirect=True, ids=str, scope="function")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    of_no_kind = [item for item in items if _has_no_layout(item)]
    config.hook.pytest_deselected(items=of_no_kind)
    items[:] = [item for item in items if item not in of_no_kind]
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            for value in item.callspec.params.values():
                if isinstance(value, Layout):
                    _waive(item, value)


def _has_no_layout(item: pytest.Item) -> bool:
    """Whether a test is about layouts that none of the chosen kinds has."""
    skip = item.get_closest_marker("skip")
    return skip is not None and "empty parameter set" in str(skip.kwargs.get("reason"))


def _waive(item: pytest.Function, layout: Layout) -> None:
    for name in {layout.kind, layout.server, str(layout)}:
        reason = WAIVERS.get((name, item.originalname))
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _new_case(
    request: pytest.FixtureRequest,
    server: Callable[[str], Server],
    caplog: pytest.LogCaptureFixture,
) -> Iterator[Case]:
    layout: Layout = request.param
    caplog.set_level(logging.DEBUG)
    case = Case(layout, server(layout.server))
    yield case
    if not case.server.process.running:
        case.server.start_again()
    case.server.resume()
    case.close()
    formatter = logging.Formatter()
    logged = "\n".join(formatter.format(record) for record in caplog.get_records("call"))
    assert case.seen_secrets(logged) == []


for _name in CHOICES:
    globals()[_name] = pytest.fixture(_new_case)
