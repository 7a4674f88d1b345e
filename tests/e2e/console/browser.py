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

from tests.servers.machine import find_program

T = TypeVar("T")
START_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 40.0
_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
_OPTIONS: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--no-first-run", "--force-color-profile=srgb"),
    "--hide-scrollbars",
)


class Browser:
    """One window; elements are named by CSS selectors."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        with (folder / "log").open("wb") as log:
            self._driver = subprocess.Popen(
                [find_program("chromedriver"), "--port=0"],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._http = urllib3.PoolManager(timeout=60, retries=False)
        self._url = f"http://127.0.0.1:{self._port()}"
        options = {
            "args": [*_OPTIONS, f"--user-data-dir={folder / 'profile'}"],
            "binary": find_program("chromium"),
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._call("POST", "/session", capabilities={"alwaysMatch": wanted})
        self._url += f"/session/{session['sessionId']}"

    def _port(self) -> int:
        assert self._driver.stdout
        for line in self._driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                return int(found[1])
        raise AssertionError("chromedriver did not start")

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
        self._driver.wait(20)
        assert self._driver.stdout
        self._driver.stdout.close()
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

    def run_async(self, script: str) -> Any:
        """Run the body of a function; return what it calls its last argument with."""
        return self._call("POST", "/execute/async", script=script, args=[])

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

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._call("POST", "/actions", actions=[{"type": "key", "id": "keys", "actions": keys}])

    def _on(self, selector: str, action: str, **body: object) -> None:
        def act() -> bool:
            try:
                found = self._call("POST", "/element", using="css selector", value=selector)[
                    _ELEMENT
                ]
                self._call("POST", f"/element/{found}/{action}", **body)
            except LookupError as error:
                problems.append(str(error))
                return False
            return True

        problems: list[str] = []
        self.until(lambda: f"{action} {selector}: {problems[-1:]}", act, bool)

    def text(self, selector: str = "body") -> str:
        """The text that somebody sees, "" if there is no such element."""
        found: str = self.run(
            "return document.querySelector(arguments[0])?.innerText ?? ''", selector
        )
        return found

    def until_text(self, wanted: str, selector: str = "body") -> str:
        """Wait until the text holds this pattern; return the text."""
        return self.until(
            lambda: f"{wanted} in {selector}",
            lambda: self.text(selector),
            lambda text: re.search(wanted, text) is not None,
        )

    def until(
        self, what: Callable[[], str], look: Callable[[], T], is_wanted: Callable[[T], bool]
    ) -> T:
        """Look until it is as wanted; else fail with what was seen."""
        end = time.monotonic() + WAIT_SECONDS
        while not is_wanted(seen := look()):
            assert time.monotonic() < end, f"{what()} not at {self.address}\nseen: {seen}"
            time.sleep(0.05)
        return seen

    def problems(self) -> list[str]:
        """What the browser has complained about since it was asked last, such as its policy."""
        lines = self._call("POST", "/se/log", type="browser")
        return [line["message"] for line in lines if line["level"] in ("SEVERE", "WARNING")]

    def show(self, width: int, *, dark: bool = False) -> None:
        """Set the width of the window, and the theme."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=False,
        )
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.command("Emulation.setEmulatedMedia", features=[theme, still])

    def picture(self, file: Path) -> None:
        """Write a picture of the whole page."""
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "scale": 1, "width": size["width"], "height": size["height"]}
        answer: Mapping[str, str] = self.command(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip
        )
        file.write_bytes(base64.b64decode(answer["data"]))

    def scripts(self, *, on: bool) -> None:
        """Let pages run scripts, or not."""
        self.command("Emulation.setScriptExecutionDisabled", value=not on)
