"""Logins by IAM to ElastiCache and MemoryDB.

Source: "Authenticating with IAM" of ElastiCache's and of MemoryDB's documentation. What is signed
is the name of the cache, and not its address.
"""

from redis.credentials import CredentialProvider

from bucketcast.aws import iam_login
from bucketcast.targets.redis.settings import RedisSettings


class IamCredentials(CredentialProvider):
    """A new token for each connection, as redis-py asks when it opens one."""

    def __init__(self, settings: RedisSettings) -> None:
        self._settings = settings

    def get_credentials(self) -> tuple[str, str]:
        """Return the user and the token.

        Raises:
            NotAuthorized: it cannot be made.
        """
        user = self._settings.user
        found = self._settings.iam_parts
        query = {"Action": "connect", "User": user}
        if found["type"].startswith("serverless"):
            query["ResourceType"] = "ServerlessCache"
        made = iam_login.token(found["service"], found["region"], found["name"], query)
        return user, made.text.reveal()
