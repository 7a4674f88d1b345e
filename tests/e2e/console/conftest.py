"""The console of the shared stack, in a real browser."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commands import COMMAND
from tests.e2e.console.browser import Browser
from tests.e2e.system import System


@pytest.fixture(scope="package")
def address(system: System) -> Iterator[str]:
    """The address that `bucketcast console` prints, while it runs."""
    console = subprocess.Popen(
        [COMMAND, "console"],
        cwd=system.elsewhere,
        env=system.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert console.stdout
    found = re.search(r"http://\S+", console.stdout.readline())
    assert found, "the console did not start"
    yield found[0]
    console.terminate()
    console.wait(60)
    console.stdout.close()


@pytest.fixture(scope="package")
def site(address: str) -> str:
    """The address of the console without a path: `site + "/events"`."""
    return address.partition("/?")[0]


@pytest.fixture(scope="package")
def one_browser(address: str, servers_folder: Path) -> Iterator[Browser]:
    browser = Browser(servers_folder / "browser")
    browser.open(address)
    yield browser
    browser.close()


@pytest.fixture
def browser(one_browser: Browser) -> Iterator[Browser]:
    """A browser that has the console's cookie, and complains about nothing."""
    one_browser.show(1280)
    yield one_browser
    assert one_browser.problems() == []
    one_browser.open("about:blank")  # no live part goes on
