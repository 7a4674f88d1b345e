"""IAM logins to ElastiCache and MemoryDB.

Source: "Authenticating with IAM" of ElastiCache's and of MemoryDB's documentation. The signature
covers the name of the cache, not its address.
"""

from redis.credentials import CredentialProvider

from bucketcast.aws import iam_login
from bucketcast.targets.redis.settings import RedisSettings


class IamCredentials(CredentialProvider):
    """Credentials for redis-py, which requests a new token for each connection."""

    def __init__(self, settings: RedisSettings) -> None:
        self._settings = settings

    def get_credentials(self) -> tuple[str, str]:
        """Return the user and the token.

        Raises:
            NotAuthorized: the token cannot be signed.
        """
        user = self._settings.user
        parts = self._settings.iam_parts
        query = {"Action": "connect", "User": user}
        if parts["type"].startswith("serverless"):
            query["ResourceType"] = "ServerlessCache"
        token = iam_login.token(parts["service"], parts["region"], parts["name"], query)
        return user, token.text.reveal()
