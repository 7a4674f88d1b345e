"""Calls of Ceph's PubSub API, signed as any S3 call."""

from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


class Pubsub:
    """One user of one gateway."""

    def __init__(self, url: str, access: str, secret: str, region: str = "us-east-1") -> None:
        self._url = url
        self._login = Credentials(access, secret)
        self._region = region
        self._pool = urllib3.PoolManager()

    def call(self, method: str, path: str, **parameters: str) -> tuple[int, Any]:
        """Send a call; the answer's status and document."""
        named = {name.replace("_", "-"): text for name, text in parameters.items()}
        url = f"{self._url}/{path}" + (f"?{urlencode(named, quote_via=quote)}" if named else "")
        request = AWSRequest(method, url)
        S3SigV4Auth(self._login, "s3", self._region).add_auth(request)
        answer = self._pool.request(method, url, headers=dict(request.headers.items()))
        return answer.status, answer.json() if answer.data else None

    def do(self, method: str, path: str, **parameters: str) -> Any:
        """Send a call that has to succeed; its document."""
        status, document = self.call(method, path, **parameters)
        assert status == 200, (method, path, status, document)
        return document

    def events(self, subscription: str, most: int, **more: str) -> Any:
        path = f"subscriptions/{subscription}"
        return self.do("GET", path, events="", max_entries=str(most), **more)

    def acknowledge(self, subscription: str, event: str) -> None:
        self.do("POST", f"subscriptions/{subscription}", ack="", event_id=event)
