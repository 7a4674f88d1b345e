"""The AWS credentials of this process, for calls signed without botocore."""

import asyncio
import time
from typing import Any, Final

from bucketcast.aws.clients import AwsError, aws_errors
from bucketcast.web.signature.sign import Credentials

_CACHE_SECONDS: Final = 60.0


class CredentialsProvider:
    """Provides current credentials; refreshes them in time, outside the event loop."""

    def __init__(self) -> None:
        import botocore.session  # noqa: PLC0415 - takes long to import

        self._session = botocore.session.get_session()
        self._cached: tuple[float, Credentials] | None = None

    async def __call__(self) -> Credentials:
        """Return the credentials.

        Raises:
            AwsError: none are configured.
        """
        if self._cached and time.monotonic() - self._cached[0] < _CACHE_SECONDS:
            return self._cached[1]
        credentials = await asyncio.to_thread(self._fetch)
        self._cached = (time.monotonic(), credentials)
        return credentials

    def _fetch(self) -> Credentials:
        with aws_errors():
            credentials: Any = self._session.get_credentials()
            frozen = credentials.get_frozen_credentials() if credentials else None
        if frozen is None:
            raise AwsError("no AWS login: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and its secret")
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token or "")
