"""The login by IAM to MSK and MSK Serverless: a token that librdkafka asks for as it needs one.

Source: "IAM access control" of MSK's developer guide, for clients with SASL OAUTHBEARER.
"""

import time
from base64 import urlsafe_b64encode

from bucketcast import __version__
from bucketcast.aws import iam_login
from bucketcast.targets.kafka.settings import KafkaSettings

_QUERY = {"Action": "kafka-cluster:Connect"}


class Tokens:
    """What librdkafka calls from a thread of its own, at first and at 80 % of a token's lifetime.

    A function that is frozen has no threads: `expired` says that the last token is over.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._expires = 0.0

    @property
    def expired(self) -> bool:
        return time.time() > self._expires

    def __call__(self, _: str = "") -> tuple[str, float]:
        """Return a token for all clusters of the region, and when it expires, in Unix seconds.

        Raises:
            NotAuthorized: it cannot be made.
        """
        region = self._settings.iam_parts["region"]
        suffix = ".cn" if region.startswith("cn-") else ""
        host = f"kafka.{region}.amazonaws.com{suffix}"
        made = iam_login.token("kafka-cluster", region, host, _QUERY)
        self._expires = made.expires
        # What MSK counts clients by stands behind the signature, which does not cover it.
        url = f"https://{made.text.reveal()}&User-Agent=bucketcast%2F{__version__}"
        return urlsafe_b64encode(url.encode()).decode().rstrip("="), made.expires
