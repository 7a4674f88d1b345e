"""What scans found in a bucket, in a browser."""

import json

from tests.e2e.console.browser import Browser
from tests.e2e.system import System
from tests.scan_results import scan_result

REPORT = """<!doctype html><title>a report</title><style>h1 { color: rgb(1, 2, 3) }</style>
<h1>What it found</h1><script>document.title = "a script ran"</script>"""


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
