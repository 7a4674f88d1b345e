"""A test that takes `kind` runs once for each kind there is a server for."""

import pytest

from tests import servers


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", servers.kinds())
