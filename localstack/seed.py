"""Put the secrets of the configuration where the deployed functions look for them.

Only a local deploy takes secrets in plain text; a stack for a real account refers to secrets that
are there already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from localstack import clients


def seed(secrets: Iterable[Mapping[str, str]]) -> int:
    """Write each named secret into the local Secrets Manager; return how many there were."""
    manager = clients.secretsmanager()
    written = 0
    for named in secrets:
        for name, value in named.items():
            try:
                manager.create_secret(Name=name, SecretString=value)
            except manager.exceptions.ResourceExistsException:
                manager.put_secret_value(SecretId=name, SecretString=value)
            written += 1
    return written
