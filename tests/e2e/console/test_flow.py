"""The flow in a browser: what waits, and a target's page."""

from collections.abc import Callable

from tests.e2e.arrivals import posted
from tests.e2e.console.browser import Browser
from tests.e2e.system import RETURN_SECONDS, System

CARD = "#flow li:has(a[href='/targets/webhook:flaky'])"


def test_a_server_stops_and_its_events_wait_until_it_comes_back(
    browser: Browser, site: str, system: System, prefix: str, rule: Callable[..., None]
) -> None:
    rule("webhook.flaky")
    flaky = system.consumers.flaky
    browser.open(f"{site}/")
    browser.until_text("Live", "#live")
    browser.until_text("webhook:flaky online", CARD)
    flaky.stop()
    try:
        for number in range(3):
            system.put("uploads", f"{prefix}{number}")
        browser.until_text(r"waiting\s*[1-9]", CARD)
    finally:
        flaky.start_again()
    here = f"uploads/{prefix}"
    system.until_equal(
        "all have arrived",
        lambda: {each.key for each in posted(flaky, here)},
        {f"{here}{number}" for number in range(3)},
        within=RETURN_SECONDS,
    )
    browser.until_text(r"waiting\s*0", CARD)


def test_keys_open_the_views(browser: Browser, site: str) -> None:
    browser.open(f"{site}/targets/webhook:primary")
    browser.press("4")
    browser.until_text("Rules", "h1")
    browser.press("1")
    browser.until_text("Flow", "h1")
