"""The flow in a browser: what waits, and a target's page."""

from collections.abc import Callable

from tests.e2e.arrivals import posted
from tests.e2e.console.browser import Browser
from tests.e2e.system import RETURN_SECONDS, System

TAB, ENTER = "\ue004", "\ue007"
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


def test_the_keyboard_alone_opens_a_view_finds_a_rule_and_removes_it(
    browser: Browser, site: str, rule: Callable[..., None], prefix: str
) -> None:
    rule("webhook.primary")
    browser.open(f"{site}/targets/webhook:primary")
    browser.press("4")
    browser.until_text("Rules", "h1")
    browser.press(f"/{TAB * 2}{prefix}{ENTER}")
    browser.until_text("1 of [0-9]+ rules|1 rule", "main")
    for words in ("remove …", "Remove"):
        press_on(browser, words)
    browser.until_text("^Rules$", "h1")
    browser.press("1")
    browser.until_text("Flow", "h1")


def press_on(browser: Browser, words: str) -> None:
    """Go from one thing to the next until it says this; press it."""

    def step() -> bool:
        browser.press(TAB)
        return bool(browser.run("return document.activeElement.innerText") == words)

    browser.until(words, step)
    browser.press(ENTER)
