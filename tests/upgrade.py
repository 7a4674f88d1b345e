"""`make upgrade FROM=HEAD~1`: what waits under one commit is delivered under the next.

Deploys that commit into a local AWS of its own, sends events to webhooks that are down, deploys
this checkout over it, starts the webhooks and counts. One of the targets is tried and fails before
the update, another is switched off until it. Exits with 1 where an event is lost.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.arrivals import posted
from tests.e2e.deployment import ROOT, UP_SECONDS, Local
from tests.e2e.records import message, record
from tests.e2e.system import Deployed, dead_of
from tests.servers import tls, webhook

EVENTS = 1_000
A_MESSAGE = 7
TARGETS = ("failing", "off")
_INSTALLED = (".venv", "node_modules", ".local")
_began = time.monotonic()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make upgrade", description=__doc__)
    parser.add_argument("--from", dest="old", default="HEAD~1", help="the commit deployed first")
    old = parser.parse_args().old
    folder = Path(tempfile.mkdtemp(prefix="bucketcast-upgrade-"))
    folder.chmod(0o755)
    with _checkout(old, folder / "old") as checkout:
        found = _upgrade(checkout, folder)
    for name, arrived in found.items():
        twice = sum(arrived.values()) - len(arrived)
        say(f"{name}: {len(arrived):,} of {EVENTS:,} events arrived, {twice} of them twice")
    if any(len(arrived) < EVENTS for arrived in found.values()):
        say(f"LOST; the logs are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def say(text: str) -> None:
    print(f"{time.monotonic() - _began:6.0f} s  {text}", flush=True)


@contextmanager
def _checkout(commit: str, folder: Path) -> Iterator[Path]:
    """Give the files of a commit, with this checkout's installed tools."""
    git = ("git", "-C", str(ROOT), "worktree")
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        for name in _INSTALLED:
            (folder / name).symlink_to(ROOT / name)
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def _upgrade(checkout: Path, folder: Path) -> dict[str, Counter[str]]:
    receiver = webhook.start(folder / "webhook", tls.issue(folder / "tls"))
    config = folder / "bucketcast.toml"
    local = Local(folder / "local")
    try:
        receiver.stop()
        _configure(config, receiver.settings(), off='enable = "off"\n')
        _up(checkout, local, config)
        say(f"deployed from {checkout.name}")
        system = Deployed(local, config, folder)
        _send(system)
        _configure(config, receiver.settings(), off="")
        local.up(config)
        say("deployed from this checkout")
        assert system.depth(dead_of(system.ingress)) == 0
        receiver.start_again()
        return _arrivals(system, receiver)
    finally:
        local.stop()
        receiver.stop()


def _configure(config: Path, settings: dict[str, str], *, off: str) -> None:
    lines = "".join(
        f"{key} = '''{text}'''\n" for key, text in settings.items() if key != "endpoint"
    )
    tables = (
        f"[notify_webhook.{name}]\nendpoint = '{settings['endpoint']}/{name}'\n{lines}"
        f"{off if name == 'off' else ''}"
        for name in TARGETS
    )
    config.write_text("[bucket.uploads]\nvia = 'sqs'\n" + "".join(tables), encoding="utf-8")


def _up(checkout: Path, local: Local, config: Path) -> None:
    """Deploy another checkout: its own code, which comes before what is installed."""
    subprocess.run(
        [sys.executable, "-m", "localstack.up", "--config", str(config)],
        cwd=checkout,
        env=local.environment(PYTHONPATH=str(checkout / "layers" / "core" / "python")),
        check=True,
        timeout=UP_SECONDS,
        stdout=subprocess.DEVNULL,
    )


def _send(system: Deployed) -> None:
    """Send the events; wait until all wait for both targets, and one has failed."""
    for name in TARGETS:
        system.add_rule("uploads", f"webhook.{name}")
    records = [record(f"upgrade/{number}.jpg", number) for number in range(EVENTS)]
    parts = range(0, EVENTS, A_MESSAGE)
    system.send(system.ingress, [message(*records[at : at + A_MESSAGE]) for at in parts])
    system.until_equal("ingest is done", lambda: system.depth(system.ingress), 0)
    fares = system.until(
        "the target's failure", system.fares, lambda seen: not seen["webhook.failing"]["online"]
    )
    queues = [system.targets[f"webhook.{name}"]["queue"] for name in TARGETS]
    waiting = [system.depth(queue) for queue in queues]
    assert all(waiting), waiting
    say(f"{EVENTS:,} events wait in {waiting[0]} and {waiting[1]} messages: {fares!r:.200}")


def _arrivals(system: Deployed, receiver: webhook.WebhookServer) -> dict[str, Counter[str]]:
    def arrived(name: str) -> Counter[str]:
        return Counter(
            each.key
            for each in posted(receiver, "uploads/upgrade/", f"{receiver.destination}/{name}")
        )

    system.until_settled(within=300)
    return {name: arrived(name) for name in TARGETS}


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
