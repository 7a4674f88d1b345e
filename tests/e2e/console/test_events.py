"""Events in a browser: live, explained, dead-lettered and sent again."""

import re
from collections.abc import Callable
from typing import Final

from tests.e2e.arrivals import posted
from tests.e2e.console.browser import Browser
from tests.e2e.system import System
from tests.servers.receiver import Answer

SCRIPT: Final = "<script>window.evil=1</script><img src=x onerror=window.evil=1>"
"""Harmless if it is seen: as a text it has no effect."""
ROW: Final = "#events tbody tr:first-child"


def listen(browser: Browser, address: str) -> None:
    """Open a list of events, and mark its page."""
    browser.open(address)
    browser.until_text("events? since", "#events")
    browser.until_text("Live", "#live")
    browser.run("window.marked = true")


def test_an_upload_arrives_live_and_explains_itself(
    browser: Browser,
    site: str,
    system: System,
    prefix: str,
    rule: Callable[..., None],
    record_property: Callable[[str, object], None],
) -> None:
    rule("webhook.primary")
    rule("webhook.flaky", suffix=".png")
    listen(browser, f"{site}/events?bucket=uploads&prefix={prefix}")
    for name in ("first.jpg", "second.jpg"):
        system.put("uploads", f"{prefix}{name}")
        browser.until_text(re.escape(f"{prefix}{name}"), ROW)
    browser.until_text("webhook:primary delivered", ROW)
    assert browser.run("return window.marked"), "the page was loaded again"
    assert browser.run("return document.querySelectorAll('#events tbody tr').length") == 2
    browser.click(f"{ROW} a")
    browser.until_text(r"(?s)received.*queued.*webhook:primary\s+1\s+delivered", "#steps")
    for opened in ("What is sent to webhook:primary", "Record"):
        assert opened in browser.text("main")
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    page = browser.text("main")
    assert re.search(r"webhook:primary\s+yes", page)
    assert re.search(r"webhook:flaky\s+no\s+the key '.*' does not end with '\.png'", page)
    assert f'"Key": "uploads/{prefix}second.jpg"' in page  # what the webhook gets
    assert '"eventName": "ObjectCreated:Put"' in page  # the record
    assert f"bucketcast trace s3://uploads/{prefix}second.jpg --since" in browser.text("footer")
    delay = re.search(r"received here after\s+([\d,]+) ms", page)
    assert delay
    record_property("received here after, ms", delay[1])


def test_a_rejected_event_goes_again_and_its_script_is_text(
    browser: Browser, site: str, system: System, prefix: str, rule: Callable[..., None]
) -> None:
    rule("webhook.flaky")
    flaky = system.consumers.flaky
    key = f"{prefix}{SCRIPT}"
    flaky.answer(Answer(status=422, body=f"no cat {SCRIPT}", match=prefix))
    try:
        listen(browser, f"{site}/events?prefix={prefix}")
        system.s3.put_object(Bucket="uploads", Key=key, Metadata={"cat": SCRIPT})
        browser.until_text("webhook:flaky dead", ROW)
        assert f"uploads/{key}" in browser.text(ROW)
        browser.click(f"{ROW} a")
        browser.until_text(re.escape(f"no cat {SCRIPT}"), "#steps")
        assert browser.text("h1") == f"s3://uploads/{key}"
        browser.click("#steps a[href^='/dead-letters']")
        browser.until_text("Dead letters of webhook:flaky", "h1")
        letter = browser.until_text("Rejected", "main")
        assert f"no cat {SCRIPT}" in letter
        assert f'"Key":"uploads/{key}"' in letter
        browser.open(f"{site}/")
        browser.click("#flow a[href='/dead-letters?target=webhook:flaky']")
        browser.until_text(re.escape(f"no cat {SCRIPT}"), "tbody")
    finally:
        flaky.answer()
    browser.click("tbody a[href^='/changes/redrive']")
    browser.until_text(r"webhook:flaky/\w+\s+1\s", "main table")
    browser.click("main form button")
    browser.until_text("1 event sent to webhook:flaky", "#run")
    here = f"uploads/{prefix}"
    system.until_equal(
        "it has arrived", lambda: {each.key for each in posted(flaky, here)}, {f"uploads/{key}"}
    )
    browser.open(f"{site}/events?prefix={prefix}")
    browser.until_text("webhook:flaky delivered", ROW)
    assert browser.run("return window.evil ?? null") is None
