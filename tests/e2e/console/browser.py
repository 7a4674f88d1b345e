"""Chromium without a window, driven by WebDriver's own protocol."""

import base64
import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import urllib3
from urllib3.util import Retry

from tests.servers.machine import find_program, ports

T = TypeVar("T")
WAIT_SECONDS: Final = 180.0
_HEIGHT: Final = 1_000
_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
_OPTIONS: Final = (
    *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--disable-background-networking", "--force-color-profile=srgb"),
)


class Browser:
    """One window; elements are named by CSS selectors."""

    def __init__(self, folder: Path) -> None:
        port = ports(folder, "driver")["driver"]
        command = [find_program("chromedriver"), f"--port={port}"]
        with (folder / "log").open("wb") as log:
            self._driver = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        # It listens after some tries.
        self._http = urllib3.PoolManager(timeout=240, retries=Retry(connect=9, backoff_factor=0.1))
        self._url = f"http://127.0.0.1:{port}"
        options = {
            "args": [*_OPTIONS, f"--user-data-dir={folder / 'profile'}"],
            "binary": find_program("chromium"),
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._call("POST", "/session", capabilities={"alwaysMatch": wanted})
        self._url += f"/session/{session['sessionId']}"

    def _call(self, method: str, path: str, **body: Any) -> Any:
        sent = json.dumps(body) if method == "POST" else None
        answer = self._http.request(method, self._url + path, body=sent)
        value = json.loads(answer.data)["value"]
        if answer.status != 200:
            raise LookupError(f"{path}: {value['error']}: {value['message'][:1_000]}")
        return value

    def close(self) -> None:
        """End the browser and its driver."""
        self._call("DELETE", "")
        self._driver.terminate()
        self._driver.wait(60)
        self._http.clear()

    def open(self, address: str) -> None:
        self._call("POST", "/url", url=address)

    @property
    def address(self) -> str:
        found: str = self._call("GET", "/url")
        return found

    def run(self, script: str, *arguments: object) -> Any:
        """Run the body of a function in the page; return what it returns."""
        return self._call("POST", "/execute/sync", script=script, args=arguments)

    def command(self, name: str, **parameters: object) -> Any:
        """Send a command of Chrome's own protocol."""
        return self._call("POST", "/goog/cdp/execute", cmd=name, params=parameters)

    def click(self, selector: str) -> None:
        """Click when there is such an element."""
        self._on(selector, "click")

    def type(self, selector: str, text: str) -> None:
        """Replace the text of a field."""
        self._on(selector, "clear")
        self._on(selector, "value", text=text)

    def press(self, keys: str) -> None:
        """Press keys where the focus is, once the page's script can take them."""
        self.until("the page", lambda: self.run("return document.readyState === 'complete'"))
        strokes = [{"type": f"key{way}", "value": key} for key in keys for way in ("Down", "Up")]
        self._call("POST", "/actions", actions=[{"type": "key", "id": "0", "actions": strokes}])

    def _on(self, selector: str, action: str, **body: object) -> None:
        def act() -> bool:
            asked = {"using": "css selector", "value": selector}
            found = self._call("POST", "/element", **asked)[_ELEMENT]
            self._call("POST", f"/element/{found}/{action}", **body)
            return True

        self.until(f"{action} {selector}", act)

    def text(self, selector: str = "body") -> str:
        """The text that somebody sees, "" if there is no such element."""
        found: str = self.run(
            "return document.querySelector(arguments[0])?.innerText ?? ''", selector
        )
        return found

    def until_text(self, wanted: str, selector: str = "body") -> str:
        """Wait until the text holds this pattern; return the text."""

        def look() -> str:
            text = self.text(selector)
            return text if re.search(wanted, text) else ""

        return self.until(f"{wanted} in {selector}", look)

    def until(self, what: str, look: Callable[[], T]) -> T:
        """Look until something is found; else fail with what the page shows."""
        end = time.monotonic() + WAIT_SECONDS
        problem = ""
        while time.monotonic() < end:
            try:
                if found := look():
                    return found
            except LookupError as error:  # a live part has replaced the element
                problem = str(error)
            time.sleep(0.05)
        raise AssertionError(f"{what} not at {self.address}: {problem}\nseen: {self.text()}")

    def problems(self) -> list[str]:
        """What the browser has complained about since it was asked last, such as its policy."""
        lines = self._call("POST", "/se/log", type="browser")
        return [line["message"] for line in lines if line["level"] in ("SEVERE", "WARNING")]

    def show(self, width: int, *, dark: bool = False) -> None:
        """Set the width of the window, and the theme."""
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.command("Emulation.setEmulatedMedia", features=[theme, still])

    def picture(self, file: Path) -> None:
        """Write a picture of the beginning of the page, in the format of the file's name."""
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        height = min(size["height"], _HEIGHT)
        clip = {"x": 0, "y": 0, "scale": 1, "width": size["width"], "height": height}
        options = {"format": file.suffix[1:], "quality": 75, "captureBeyondViewport": True}
        answer: Mapping[str, str] = self.command("Page.captureScreenshot", clip=clip, **options)
        file.write_bytes(base64.b64decode(answer["data"]))
