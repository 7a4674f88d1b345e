"""A factory of targets for one test, which closes them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from bucketcast.settings.options import read


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
