"""Targets on the machine itself, which a laptop has and a function on AWS does not."""

from collections.abc import Iterable, Iterator
from typing import Final

from bucketcast import targets
from bucketcast.config.model import TargetConfig
from bucketcast.errors import BucketcastError, ConfigError
from bucketcast.settings import egress
from bucketcast.settings.options import read

_PUBLIC: Final = "a host that AWS reaches; examples/aws/bucketcast.toml is one to start from"


def unreachable(found: Iterable[TargetConfig]) -> Iterator[ConfigError]:
    """Yield the errors of targets at loopback addresses, which a function on AWS cannot reach.

    Addresses inside of secrets are not seen.
    """
    for each in found:
        target = targets.load(each.kind)
        try:
            made = target(read(target.Settings, each.settings)) if each.enabled else None
            hosts = {server.host for server in made.endpoints()} if made else set()
        except BucketcastError:
            continue  # it needs the secrets
        for host in sorted(filter(egress.is_loopback, hosts)):
            key = next((key for key, text in each.settings.items() if host in text), "")
            where = f"notify_{each.kind}.{each.id}.{key}".rstrip(".")
            yield ConfigError(where, f"found {host}, which is the function itself", _PUBLIC)
