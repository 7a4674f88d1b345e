"""The console in this process: what a browser gets."""

import time
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Final
from urllib.parse import urlencode

from bucketcast.console.app import create_app
from bucketcast.console.context import Context
from bucketcast.console.flow import Watch
from bucketcast.terminal.output import Output
from tests.unit.moto_aws import MotoAws
from tests.unit.web.requests import answer

PORT: Final = 4_000
TOKEN: Final = "the-token"
ORIGIN: Final = f"http://127.0.0.1:{PORT}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: str

    @property
    def text(self) -> str:
        """The body without escapes of HTML."""
        return unescape(self.body)


@dataclass
class Site:
    """The console of a stack; `get` and `post` send what a browser with its cookie would."""

    aws: MotoAws
    port: int = PORT
    _app: Any = field(init=False)

    def __post_init__(self) -> None:
        context = Context(Output(aws=lambda **_: self.aws))
        self._app = create_app(context, Watch(context), TOKEN, self.port)

    @property
    def state(self) -> Any:
        """What the views share."""
        return self._app._app.state

    def change(self, name: str, /, **fields: str) -> Answer:
        """Send a form; return the page that it leads to."""
        return self.follow(self.post(f"/changes/{name}", **fields))

    def follow(self, answer: Answer) -> Answer:
        """Return the page that an answer leads to, once it is complete."""
        if answer.status != 303:
            return answer
        return self.without("data-live", answer.headers["location"])

    def without(self, sign: str, address: str) -> Answer:
        """Return a page once it no longer has this sign of being at work."""
        end = time.monotonic() + 180
        while sign in (page := self.get(address)).body:
            assert time.monotonic() < end, page.text
            time.sleep(0.01)
        return page

    def get(self, address: str, **headers: str) -> Answer:
        return self.request("GET", address, b"", headers)

    def post(self, address: str, /, **fields: str) -> Answer:
        return self.request("POST", address, urlencode(fields).encode(), {"origin": ORIGIN})

    def request(self, method: str, address: str, body: bytes, headers: dict[str, str]) -> Answer:
        """Send a request; these headers replace those of a browser, "" removes one."""
        usual = {"host": f"127.0.0.1:{PORT}", "cookie": f"bucketcast-{PORT}={TOKEN}"}
        sent = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        path, _, query = address.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "method": method,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items() if value],
        }
        response = answer(self._app, scope, body)
        return Answer(response.status, response.headers, response.body.decode())
