"""Find targets at loopback addresses, which a laptop reaches and a function on AWS does not."""

from collections.abc import Iterable, Iterator
from typing import Final

from bucketcast import targets
from bucketcast.config.model import TargetConfig
from bucketcast.errors import BucketcastError, ConfigError
from bucketcast.settings import egress
from bucketcast.settings.options import read

_PUBLIC: Final = "a host that AWS reaches; examples/aws/bucketcast.toml is one to start from"


def unreachable(configs: Iterable[TargetConfig]) -> Iterator[ConfigError]:
    """Yield the errors of targets at loopback addresses, which a function on AWS cannot reach.

    Addresses inside secrets are not checked.
    """
    for config in configs:
        target = targets.load(config.kind)
        try:
            instance = target(read(target.Settings, config.settings)) if config.enabled else None
            hosts = {server.host for server in instance.endpoints()} if instance else set()
        except BucketcastError:
            continue  # the address is in a secret
        for host in sorted(filter(egress.is_own, hosts)):
            key = next((key for key, setting in config.settings.items() if host in setting), "")
            where = f"notify_{config.kind}.{config.id}.{key}".rstrip(".")
            yield ConfigError(where, f"found {host}, which is the function itself", _PUBLIC)
