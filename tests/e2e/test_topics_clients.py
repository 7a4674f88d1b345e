"""The lines of docs/topics.md as they stand there, and 1,000 topics by the AWS CLI and curl."""

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from localstack.layout import AWS_CLI_VENV
from tests.e2e.commands import COMMAND
from tests.e2e.deployment import ROOT
from tests.e2e.secure_gateway import client
from tests.e2e.system import System

MANY = 1_000
AT_ONCE = 8
PAGE = 100
SECONDS = 120.0
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_TOPIC = re.compile(r"<TopicArn>([^<]+)</TopicArn>")
_NEXT = re.compile(r"<NextToken>([^<]+)</NextToken>")


@pytest.fixture(scope="module")
def sns(system: System) -> Iterator[Any]:
    made = client(system, "sns")
    yield made
    made.close()


def shell(system: System, script: str) -> str:
    """What a script prints that has all that `make up` and `make setup` have installed."""
    own = f"{AWS_CLI_VENV / 'bin'}:{COMMAND.parent}"
    environment = {
        **system.environment,
        "PATH": f"{own}:{system.environment['PATH']}",
        "HOME": str(system.elsewhere),  # no configuration of the caller's
        "AWS_PAGER": "",
    }
    ran = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=system.elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, f"{script}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a block, and a pattern of what it prints."""
    found: list[tuple[str, str]] = []
    goes_on = False
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        elif goes_on:
            found[-1] = (f"{found[-1][0]}\n{line}", "")
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
        goes_on = line.endswith("\\")
    return found


def fits(example: str, printed: str) -> bool:
    """Whether it was printed so; `…` stands for anything."""
    pattern = ".*".join(re.escape(part.strip("\n")) for part in example.split("…"))
    return bool(re.fullmatch(rf"\s*{pattern}.*", printed, re.DOTALL))


def test_each_line_of_the_page_does_what_it_shows(system: System) -> None:
    page = Path(ROOT / "docs" / "topics.md").read_text(encoding="utf-8")
    blocks = [block for block in _BLOCK.findall(page) if "aws" in block or "curl" in block]
    assert len(blocks) == 2
    before = ""
    for command, example in [each for block in blocks for each in commands(block)]:
        if command.startswith("set -a"):
            continue  # done by the fixture, from the file of its own folder
        changes = re.match(r"export |topics\(\)", command)
        printed = shell(system, f"{before}{command}")
        assert fits(example, printed), f"{command}\nprinted {printed}\nthe page shows {example}"
        before += f"{command}\n" if changes else ""
    system.bucketcast("notification", "rm", "--bucket", "uploads", "--notification-id", "mine")


def test_a_thousand_topics_are_listed_in_pages(system: System, sns: Any, prefix: str) -> None:
    names = [f"{prefix.strip('/')}-{number:04}" for number in range(MANY)]
    arns = {f"arn:aws:sns:us-east-1::{name}" for name in names}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert set(pool.map(lambda name: sns.create_topic(Name=name)["TopicArn"], names)) == arns
    keys = (
        'export AWS_ACCESS_KEY_ID="$BUCKETCAST_ACCESS_KEY" '
        'AWS_SECRET_ACCESS_KEY="$BUCKETCAST_SECRET_KEY" AWS_ENDPOINT_URL="$BUCKETCAST_URL"\n'
    )
    listed = json.loads(shell(system, f"{keys}aws sns list-topics --output json"))["Topics"]
    found = [each["TopicArn"] for each in listed]
    assert arns <= {*found}
    assert len(found) == len({*found})
    pages = [_TOPIC.findall(page) for page in by_curl(system)]
    assert [each for page in pages for each in page] == found
    assert max(map(len, pages)) == PAGE
    assert len(pages) == -(-len(found) // PAGE)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda arn: sns.delete_topic(TopicArn=arn), arns))
    assert not arns & {arn for page in by_curl(system) for arn in _TOPIC.findall(page)}


def by_curl(system: System) -> Iterator[str]:
    """The pages of ListTopics."""
    login = '--user "$BUCKETCAST_ACCESS_KEY:$BUCKETCAST_SECRET_KEY"'
    token = ""
    while True:
        page = shell(
            system,
            f'curl -sS --aws-sigv4 "aws:amz:$AWS_REGION:sns" {login} -d Action=ListTopics '
            f"--data-urlencode NextToken={token} $BUCKETCAST_URL",
        )
        yield page
        following = _NEXT.search(page)
        if not following:
            return
        token = following[1]
