"""Targets for one test, closed in the end."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from bucketcast.settings.options import read


@contextmanager
def made_targets(
    target_class: Any, settings: Callable[..., Mapping[str, str]], *, checked: bool = True
) -> Iterator[Callable[..., Any]]:
    """Yield a function that makes a target with these texts, by default the server's `settings`.

    Where `checked`, texts with a problem fail the test.
    """
    with ExitStack() as made:

        def make(texts: Mapping[str, str] | None = None, **overrides: str) -> Any:
            texts = settings(**overrides) if texts is None else {**texts, **overrides}
            parsed = read(target_class.Settings, texts)
            assert not checked or target_class.check(parsed) == []
            return made.enter_context(target_class(parsed))

        yield make
