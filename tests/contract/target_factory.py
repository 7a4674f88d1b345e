"""Fixtures of one kind's tests: its server, and a factory of targets, which closes them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from bucketcast.settings.options import read
from tests.servers import Server


def running(*names: str) -> Any:
    """Make a fixture of the server of that name, as if new; of several, of one after the other."""

    def started(server: Callable[[str], Server], request: pytest.FixtureRequest) -> Server:
        return server(getattr(request, "param", names[0]))

    return pytest.fixture(started, params=names if len(names) > 1 else None)


def making(target_class: Any, kind: str, *, check: bool = True) -> Any:
    """Make a fixture of a factory of targets, by default with the settings of the kind's server."""

    def make(server: Callable[[str], Server]) -> Iterator[Callable[..., Any]]:
        with target_factory(target_class, server(kind).settings, check=check) as factory:
            yield factory

    return pytest.fixture(make)


@contextmanager
def target_factory(
    target_class: Any, settings: Callable[..., Mapping[str, str]], *, check: bool = True
) -> Iterator[Callable[..., Any]]:
    """Yield a function that returns a target with given settings, by default `settings`.

    With `check`, invalid settings fail the test.
    """
    with ExitStack() as stack:

        def make(given: Mapping[str, str] | None = None, **overrides: str) -> Any:
            given = settings(**overrides) if given is None else {**given, **overrides}
            parsed = read(target_class.Settings, given)
            assert not check or target_class.check(parsed) == []
            return stack.enter_context(target_class(parsed))

        yield make
