"""The AWS credentials of this process, for calls signed without botocore."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from bucketcast.aws.clients import AwsError, aws_errors
from bucketcast.web.signature.sign import Credentials

_CACHE_SECONDS: Final = 60.0


class CredentialsProvider:
    """Provides current credentials; refreshes them in time, in a thread of its own."""

    def __init__(self) -> None:
        import botocore.session  # noqa: PLC0415 - takes long to import

        self._session = botocore.session.get_session()
        self._cached: tuple[float, Credentials] | None = None
        self._thread = ThreadPoolExecutor(1, "credentials")

    async def __call__(self) -> Credentials:
        """Return the credentials.

        Raises:
            AwsError: none are configured.
        """
        if self._cached and time.monotonic() - self._cached[0] < _CACHE_SECONDS:
            return self._cached[1]
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._fetch)

    def _fetch(self) -> Credentials:
        with aws_errors():
            credentials: Any = self._session.get_credentials()
            frozen = credentials.get_frozen_credentials() if credentials else None
        if frozen is None:
            raise AwsError("no AWS login: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and its secret")
        fetched = Credentials(frozen.access_key, frozen.secret_key, frozen.token or "")
        self._cached = (time.monotonic(), fetched)
        return fetched
