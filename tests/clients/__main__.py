"""`make clients`: the functional tests of S3's and MinIO's clients, against a gateway of their own.

Prints each test that does not pass, and ends with 1 if these are not the known ones. `--direct`
runs the suites against the local S3 behind the gateway instead, and judges nothing.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clients.known import KNOWN
from tests.clients.suites import SUITES, Server
from tests.e2e.deployment import Local, write_configuration
from tests.e2e.system import Deployed

TARGET = {"webhook.primary": {"endpoint": "http://127.0.0.1:9/"}}


def main() -> int:
    """Run the suites that are named, or all; return 1 if a result is not as known."""
    parser = argparse.ArgumentParser(prog="make clients", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--direct", action="store_true", help="leave the gateway out")
    options = parser.parse_args()
    surprises = 0
    with _deployed() as system:
        for name in options.suites or SUITES:
            work = system.elsewhere / name
            work.mkdir()
            server = _local_s3(system) if options.direct else _gateway(system, name)
            results = SUITES[name](server, work)
            surprises += _report(name, results, {} if options.direct else KNOWN[name])
    return 1 if surprises and not options.direct else 0


@contextmanager
def _deployed() -> Iterator[Deployed]:
    """Deploy a stack of its own: mc's suite removes all buckets that it may remove."""
    with tempfile.TemporaryDirectory(prefix="bucketcast-clients-") as path:
        folder = Path(path)
        config = folder / "bucketcast.toml"
        write_configuration(config, {}, TARGET, dynamic="webhook")
        local = Local(folder / "stack")
        try:
            local.up(config)
            yield Deployed(local, config, folder)
        finally:
            local.stop()


def _local_s3(system: Deployed) -> Server:
    return Server(system.local.endpoint, "test", "testtest")


def _gateway(system: Deployed, name: str) -> Server:
    """Return the gateway and a user of it with a topic, a bucket, and all rights on the suite's."""
    patterns = ("of-*", "mc-*", "minio-py-*", "minio-go-*", "cli-suite")
    rights = [f"--bucket={pattern}=read,write,notify,create,lock" for pattern in patterns]
    added = system.bucketcast("user", "add", name, "--tenant", "acme", *rights, "--json")
    keys = json.loads(added.out)
    sns, s3 = (system.through(service, keys) for service in ("sns", "s3"))
    endpoint = {"push-endpoint": TARGET["webhook.primary"]["endpoint"]}
    topic = sns.create_topic(Name=name, Attributes=endpoint)["TopicArn"]
    s3.create_bucket(Bucket=f"of-{name}")
    url = system.environment["BUCKETCAST_URL"]
    return Server(url, keys["access_key"], keys["secret_key"], f"of-{name}", topic)


def _report(name: str, results: dict[str, str], known: dict[str, str]) -> int:
    """Print what did not pass; return the number of results that are not as known."""
    failed = {test: message for test, message in results.items() if message}
    print(f"{name}: {len(results) - len(failed)} of {len(results)} pass")
    for test, message in failed.items():
        why = known.get(test) or " ".join(message.split())[:500]
        print(f"  {'known ' if test in known else 'FAILED'} {test}: {why}", flush=True)
    fixed = known.keys() - failed.keys()
    for test in sorted(fixed):
        print(f"  {'PASSED' if test in results else 'NOT RUN'} {test}: {known[test]}")
    return len(failed.keys() - known.keys()) + len(fixed) + (not results)


if __name__ == "__main__":
    sys.exit(main())
