"""A rule in a browser, and what scans found in a bucket."""

import json
import re

from tests.e2e.arrivals import posted
from tests.e2e.console.browser import Browser
from tests.e2e.system import System
from tests.scan_results import scan_result

REPORT = """<!doctype html><title>a report</title><style>h1 { color: rgb(1, 2, 3) }</style>
<h1>What it found</h1><script>document.title = "a script ran"</script>"""


def test_a_rule_is_tried_added_matched_and_removed(
    browser: Browser, site: str, system: System, prefix: str
) -> None:
    name, here = prefix.strip("/"), f"uploads/{prefix}"
    browser.open(f"{site}/changes/add-rule?bucket=uploads&arn=webhook:primary&events=put")
    browser.type("#prefixes", prefix)
    browser.type("#suffixes", ".jpg")
    browser.type("#key", f"{prefix}a.txt")
    browser.click("button[formmethod=get]")
    text = browser.until_text("this rule", "main table")
    assert re.search(r"this rule\s+webhook:primary\s+no\s+the key '.*' does not end with", text)
    browser.type("#key", f"{prefix}a.jpg")
    browser.click("button[formmethod=get]")
    browser.until_text(r"this rule\s+webhook:primary\s+yes", "main table")
    assert f"bucketcast explain s3://{here}a.jpg --event put" in browser.text("main")
    assert prefix not in system.bucketcast("event", "ls", "uploads").out
    browser.click("summary")
    browser.type("#name", name)
    browser.click("form button:not([formmethod])")
    browser.until_text(rf"{prefix}\s+\.jpg\s+{name}", "main table")
    for end in (".txt", ".jpg"):
        system.put("uploads", f"{prefix}a{end}")
    webhook = system.consumers.webhook
    system.until_equal(
        "what matched has arrived",
        lambda: {each.key for each in posted(webhook, here)},
        {f"{here}a.jpg"},
    )
    id_ = re.search(rf"{name}\s+([0-9a-f]{{16}})", browser.text("main table"))
    assert id_
    browser.click(f"a[href*='{id_[1]}']")
    browser.until_text("already queued are still delivered", "main")
    browser.click("button.danger")
    browser.until_text("^Rules$", "h1")
    assert name not in browser.text()
    assert prefix not in system.bucketcast("event", "ls", "uploads").out


def test_a_buckets_usage_is_plotted_and_a_report_opens_apart(
    browser: Browser, site: str, system: System
) -> None:
    bucket = next(
        json.loads(text)["bucket"] for key, text in system.outputs.items() if "Pipeline" in key
    )

    def put(run: str, name: str, text: str) -> None:
        key = f"runs/scan/{run}/{name}"
        system.s3.put_object(Bucket=bucket, Key=key, Body=text.encode(), ContentType="text/html")

    for day, objects in enumerate((200, 100), 1):
        result = scan_result(f"2026-03-0{day}T10:00:00+00:00", objects, 2048)
        put(f"day-{day}", "result.json", json.dumps(result))
    put("day-2", "report/index.html", REPORT)
    browser.open(f"{site}/buckets")
    browser.click("a[href='/buckets/uploads']")
    assert "Objects 100" in browser.until_text("Scans of the last 30 days")
    browser.click("a[href='/scans/day-2']")
    browser.until_text("What it found", "h1")
    browser.until("the policy refuses its script", browser.problems)
    assert browser.run("return document.title") == "a report"
    assert browser.run("return getComputedStyle(document.querySelector('h1')).color") == (
        "rgb(1, 2, 3)"
    )
    assert browser.run("return self.origin") == "null"
