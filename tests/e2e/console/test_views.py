"""Every view, wide in the light theme and narrow in the dark: what axe finds.

Their pictures stay in .local/pictures; those of `docs/pictures` are copies.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.e2e.console.browser import Browser
from tests.e2e.deployment import ROOT
from tests.e2e.system import RETURN_SECONDS, System
from tests.servers.receiver import Answer

AXE: Final = ROOT / "node_modules" / "axe-core" / "axe.min.js"
VIEWS: Final = {
    "flow": "/",
    "target": "/targets/webhook:flaky",
    "run": "/targets/webhook:primary",
    "events": "/events",
    "event": "/events?prefix=pictures/",
    "dead-letters": "/dead-letters",
    "letters": "/dead-letters/letters?target=webhook:primary",
    "redrive": "/changes/redrive?target=webhook:primary",
    "purge": "/changes/purge?target=webhook:primary",
    "rules": "/rules",
    "wrong": "/changes/add-rule?bucket=uploads&arn=webhook:primry&events=put",
    "topics": "/topics",
    "dynamic-target": "/changes/add-target",
    "doctor": "/doctor",
    "buckets": "/buckets",
    "error": "/nowhere",
    "refused": "",
}
PICTURES: Final = ROOT / ".local" / "pictures"
RUN_AXE: Final = """
return axe.run().then((found) => found.violations.map(
  (each) => [each.impact, each.id, each.nodes.map((node) => node.html).join("\\n")]));
"""
SHOW_AGAIN: Final = """
for (const hidden of [true, false]) {
  Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}
return !window.listed.isConnected;
"""


@pytest.fixture(scope="module")
def busy(system: System, one_browser: Browser, site: str) -> Iterator[None]:
    """Events that are sent, some that wait for a server that is down, and a rejected one."""
    one_browser.open(f"{site}/events")
    one_browser.until_text("events? since")
    sns = system.through("sns")
    endpoint = {"push-endpoint": "http://127.0.0.1:9/", "persistent": "true"}
    topic = sns.create_topic(Name="pictures", Attributes=endpoint)["TopicArn"]
    primary = system.consumers.webhook
    primary.answer(Answer(status=422, body="no cat", match="pictures/39"))
    for target in ("webhook.primary", "webhook.flaky", "postgres.mirror", "redis.mirror"):
        system.add_rule("uploads", target, "--prefix", "pictures/")
    system.consumers.flaky.stop()
    for number in range(40):
        system.put("uploads", f"pictures/{number}.jpg")
    dead = system.targets["webhook.primary"]["dead"]
    system.until("the rejected one is dead", lambda: system.depth(dead), bool)
    primary.answer()
    yield
    sns.delete_topic(TopicArn=topic)
    system.dead_letters(dead, 1)
    system.consumers.flaky.start_again()
    system.until_settled(within=RETURN_SECONDS)


def has_charts(browser: Browser) -> bool:
    browser.open(browser.address)
    return "Delivered" in browser.text("main")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.usefixtures("busy")
def test_a_view_fits_and_can_be_read_by_all(browser: Browser, site: str, view: str) -> None:
    # The cookie is not one of that name.
    browser.open(site + VIEWS[view] if VIEWS[view] else site.replace("127.0.0.1", "localhost"))
    if view == "flow":
        browser.until_text("offline", "#flow li:has(a[href='/targets/webhook:flaky'])")
    if view == "target":
        # The console counts once a minute.
        browser.until("charts", lambda: has_charts(browser))
    if view in ("dead-letters", "letters", "redrive", "purge"):
        browser.until_text("answered 422", "#letters")
    if view == "event":
        browser.click("#events tbody a")
        browser.until_text("Record")
    if view == "run":
        browser.click("form[action='/changes/test'] button")
        browser.until_text(r"(?ms)^sent.*^received.*^queued.*^delivered", "#run")
    if view == "wrong":
        browser.click("form[action='/changes/add-rule'] button")
        browser.until_text("did you mean 'webhook:primary'")
    if view == "doctor":
        browser.until("its end", lambda: "It runs" not in browser.text("main"))
    browser.run(AXE.read_text("utf-8"))
    PICTURES.mkdir(exist_ok=True)
    for width, dark in ((1280, False), (390, True)):
        browser.show(width, dark=dark)
        browser.picture(PICTURES / f"{view}-{width}.webp")
        assert browser.run("return document.documentElement.scrollWidth") <= width
        assert browser.run(RUN_AXE) == []
    if view in ("error", "wrong", "refused"):
        assert browser.problems()  # of its status


@pytest.mark.usefixtures("busy")
def test_a_pick_stays_when_its_list_is_read_again(browser: Browser, site: str) -> None:
    browser.open(site + VIEWS["letters"])
    browser.until_text("answered 422", "#letters")
    browser.click("#letters input[type=checkbox]")
    browser.run("window.listed = document.querySelector('#letters')")
    browser.until("the list of a tab that is shown again", lambda: browser.run(SHOW_AGAIN))
    browser.until_text("answered 422", "#letters")
    assert browser.run("return document.querySelector('#letters input[type=checkbox]').checked")
