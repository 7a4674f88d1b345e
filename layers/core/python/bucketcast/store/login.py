"""The AWS login of this process, for calls that are signed by hand."""

import asyncio
import os
import time
from typing import Any, Final

from bucketcast.control.signature.sign import Login
from bucketcast.store.access import AwsError, explained

_KEPT_SECONDS: Final = 60.0


class Logins:
    """Gives the login of now; what expires is fetched again in good time, outside the loop."""

    def __init__(self) -> None:
        import botocore.session  # noqa: PLC0415 - takes longer than all that needs no AWS

        self._session = botocore.session.get_session()
        self._held: tuple[float, Login] | None = None

    @property
    def region(self) -> str:
        """The region of the ordinary AWS environment, "" where none is set."""
        return os.environ.get("AWS_REGION") or self._session.get_config_variable("region") or ""

    def endpoint(self, region: str) -> str:
        """Where S3 is, as every AWS client finds it."""
        own = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        suffix = ".cn" if region.startswith("cn-") else ""
        return own or f"https://s3.{region}.amazonaws.com{suffix}"

    async def __call__(self) -> Login:
        """The login.

        Raises:
            AwsError: there is none.
        """
        if self._held and time.monotonic() - self._held[0] < _KEPT_SECONDS:
            return self._held[1]
        login = await asyncio.to_thread(self._fetch)
        self._held = (time.monotonic(), login)
        return login

    def _fetch(self) -> Login:
        with explained():
            found: Any = self._session.get_credentials()
            frozen = found.get_frozen_credentials() if found else None
        if frozen is None:
            raise AwsError("no AWS login: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and its secret")
        return Login(frozen.access_key, frozen.secret_key, frozen.token or "")
