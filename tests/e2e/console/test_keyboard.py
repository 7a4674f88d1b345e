"""The keyboard in a browser."""

from collections.abc import Callable

from tests.e2e.console.browser import Browser

TAB, ENTER = "\ue004", "\ue007"


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
