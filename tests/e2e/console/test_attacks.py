"""What other pages in the same browser can do: nothing."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.e2e.console.browser import Browser
from tests.e2e.system import System

PAGE = """<!doctype html><title>evil</title><p>evil</p>
<iframe name="inside" src="{site}/"></iframe>
<form method="post" action="{site}/changes/pause"><input name="arn" value="redis:log">
<button>Win</button></form>
"""


class EvilPage(BaseHTTPRequestHandler):
    """Frames the console, and has a form for it."""

    site = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE.format(site=self.site).encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def evil(site: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server of somebody else on this machine."""
    monkeypatch.setattr(EvilPage, "site", site)
    with ThreadingHTTPServer(("127.0.0.1", 0), EvilPage) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def browser(one_browser: Browser) -> Iterator[Browser]:
    """A browser that has the console's cookie, and may complain."""
    yield one_browser
    one_browser.open("about:blank")
    one_browser.problems()


# To browsers, another port is the same site, so that the cookie is sent; another name is not.
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_of_another_origin_can_neither_frame_nor_send(
    browser: Browser, system: System, evil: int, host: str
) -> None:
    browser.open(f"http://{host}:{evil}/")
    browser.until_text("evil")
    browser.click("button")
    browser.until_text("Another page sent this request|Open the address that")
    assert any("frame-ancestors 'none'" in problem for problem in browser.problems())
    assert system.fares()["redis.log"]["paused"] is None


def test_a_link_of_another_site_opens_a_view(browser: Browser, site: str, evil: int) -> None:
    browser.open(f"http://localhost:{evil}/")
    browser.run(f"location.href = '{site}/rules'")
    browser.until_text("Rules", "h1")
