"""The configuration file against the deployment. Names of settings are shown, never values."""

from collections.abc import Iterator, Mapping, Sequence

from bucketcast.config import Deployment
from bucketcast.doctor import Finding

CHECK = "configuration"
_DEPLOY = "deploy: node_modules/.bin/cdk deploy (`make up` for the local AWS)"


def findings(
    config: Deployment,
    deployed: Mapping[str, Mapping[str, str]],
    switched_off: Sequence[str],
    buckets: Mapping[str, str],
) -> Iterator[Finding]:
    """Compare the file with the deployed settings by ARN, and with the buckets' transports."""
    for target in config.targets:
        arn = str(target.arn)
        if arn not in deployed:
            yield _differs(arn, "is in the file, but not deployed", _DEPLOY)
            continue
        keys = _changed(target.settings, deployed[arn])
        if target.enabled == (arn in switched_off):
            keys = sorted({*keys, "enable"})
        if keys:
            what = f"the file has another value than the deployment: {', '.join(keys)}"
            yield _differs(arn, what, _DEPLOY)
        else:
            yield Finding(CHECK, arn, "ok", "deployed as in the file")
    for arn in sorted(deployed.keys() - {str(target.arn) for target in config.targets}):
        hint = "put it back into the file; otherwise the next deploy removes it"
        yield _differs(arn, "is deployed, but not in the file", hint)
    yield from _buckets(config, buckets)


def _buckets(config: Deployment, deployed: Mapping[str, str]) -> Iterator[Finding]:
    for name in sorted(config.buckets.keys() | deployed.keys()):
        subject = f"bucket {name}"
        if name not in deployed:
            yield _differs(subject, "is in the file, but not deployed", _DEPLOY)
        elif name not in config.buckets:
            hint = "put it back into the file; otherwise the next deploy disconnects it"
            yield _differs(subject, "is deployed, but not in the file", hint)
        elif config.buckets[name].via != deployed[name]:
            what = f"via is {config.buckets[name].via} in the file and {deployed[name]} deployed"
            yield _differs(subject, what, _DEPLOY)
        else:
            yield Finding(CHECK, subject, "ok", "deployed as in the file")


def _changed(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    keys = ours.keys() | theirs.keys()
    return sorted(key for key in keys if ours.get(key) != theirs.get(key))


def _differs(subject: str, found: str, hint: str) -> Finding:
    return Finding(CHECK, subject, "warn", found, hint)
