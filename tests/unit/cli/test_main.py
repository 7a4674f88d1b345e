import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError, NoRegionError
from click.shell_completion import get_completion_class

from bucketcast import cli
from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.terminal.output import Output
from tests.unit.conftest import Run
from tests.unit.moto_aws import MotoAws, refusal
from tests.unit.samples import RELEASED

IMPORTS = """
import os, sys, boto3
from importlib import import_module
for name in sys.argv[1:]:
    if not (child := os.fork()):
        import_module(name)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""
"""Each in a process that has imported no other."""


def test_each_command_can_be_imported_first() -> None:
    names = [f"bucketcast.{name}" for group in cli.GROUPS.values() for name, _ in group.values()]
    subprocess.run([sys.executable, "-c", IMPORTS, *names], check=True)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("evnt", "unknown command 'evnt': did you mean 'event'? commands are event, "),
        ("event ad", "unknown command 'ad': did you mean 'add'? commands are add, apply, "),
        (
            "target ls --wach",
            "unknown option '--wach': did you mean '--watch'? options are --wait, ",
        ),
        ("event add", "BUCKET is missing"),
        ("cost", "--events-per-day is missing"),
        ("target ls --wait nan", "--wait: 'nan' is not a valid integer range"),
        ("event ls uploads --event", "unknown option '--event': options are --stack, "),
        ("event ls uploads x:1", "TARGET: unknown kind 'x': kinds are "),
        ("target ls b", "got unexpected extra argument (b)"),
        ("target ls --stack", "option '--stack' requires an argument"),
    ],
)
def test_misuse_is_said_in_one_style(run: Run, words: str, error: str) -> None:
    assert run(*words.split()).said(2).startswith(f"bucketcast: {error}")


def test_help_and_version_do_not_import_boto3() -> None:
    code = (
        "import sys; from bucketcast import cli; cli.main(['--help']);"
        "sys.exit(', '.join({'boto3', 'botocore'} & set(sys.modules)) or 0)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "Rules and buckets:" in answer.stdout


def test_every_command_is_in_one_group_of_the_help() -> None:
    package = Path(cli.__file__).parents[1]
    modules = [
        ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__")
        for path in [*package.rglob("command.py"), *package.rglob("command/*.py")]
        if "\ndef command(" in path.read_text(encoding="utf-8")
    ]
    grouped = [module for group in cli.GROUPS.values() for module, _ in group.values()]
    assert sorted(grouped) == sorted(modules)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--stack Other event ls uploads", ""),
        ("event ls uploads --stack Other", "Another"),
        ("event ls uploads", "Other"),
    ],
)
def test_stack_precedes_or_follows_the_command_or_is_in_the_environment(
    run: Run, aws: MotoAws, monkeypatch: pytest.MonkeyPatch, words: str, named: str
) -> None:
    monkeypatch.setenv("BUCKETCAST_STACK", named)
    assert run(*words.split()).code == 3
    aws.stack = "Other"
    assert run(*words.split()).code == 0


def test_missing_stack_is_reported_with_a_hint(run: Run, aws: MotoAws) -> None:
    aws.stack = "Other"
    ran = run("target", "ls", "--json")
    assert (ran.code, ran.document["code"]) == (3, "no_answer")
    assert "no stack Bucketcast" in ran.document["error"]
    assert "make up" in ran.document["error"]


def test_stack_that_is_not_bucketcast_is_refused(run: Run, aws: MotoAws) -> None:
    del aws.outputs["StateTable"]
    ran = run("target", "ls")
    assert "not a whole Bucketcast: it lacks outputs (StateTable); deploy it" in ran.err


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NoCredentialsError(), "no AWS login: Unable to locate credentials; set AWS_PROFILE"),
        (NoRegionError(), "set AWS_REGION"),
        (EndpointConnectionError(endpoint_url="http://x"), "is there a way to the network?"),
        (refusal("ExpiredToken"), "log in again"),
        (refusal("InvalidClientTokenId"), "does not accept this login"),
        (refusal("AccessDenied", "DescribeStacks"), "not allowed: DescribeStacks"),
        (refusal("Throttling", "DescribeStacks"), "AWS refused DescribeStacks: Throttling"),
    ],
)
def test_aws_errors_have_the_hint(
    error: Exception, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with pytest.raises(AwsError) as raised, aws_errors():
        raise error
    assert expected in str(raised.value)


def test_region_is_read_from_the_usual_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert Aws().sqs.meta.region_name == "eu-central-1"


def _commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found
        if isinstance(found, click.Group):
            yield from _commands(found, *path, name)
        else:
            yield (*path, name), found


COMMANDS = dict(_commands(cli.bucketcast))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(run: Run, words: tuple[str, ...]) -> None:
    ran = run(*words, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: bucketcast {' '.join(words)} ")
    assert "Example" in ran.out


def test_no_command_or_option_of_release_1_0_0_is_gone() -> None:
    now = {
        " ".join((*words, option)).strip()
        for words, command in COMMANDS.items()
        for parameter in command.params
        for option in ("", *parameter.opts)
    }
    assert set(RELEASED["commands"]) - now == set()


def test_no_help_shows_the_name_of_a_function_as_a_value() -> None:
    unnamed = [
        (command, option.opts)
        for command, found in COMMANDS.items()
        for option in found.params
        if isinstance(option, click.Option)
        and isinstance(option.type, click.types.FuncParamType)
        and not option.metavar
    ]
    assert unnamed == []


@pytest.mark.parametrize("texts", [["put", "delete"], ["GLACIER", "STANDARD"]])
def test_every_option_that_takes_a_list_may_be_repeated(texts: list[str]) -> None:
    """A list is what joined texts are several values of, or what jobs call one."""
    taken = []
    for words, command in COMMANDS.items():
        context = click.Context(command)
        for option in (each for each in command.params if isinstance(each, click.Option)):
            joined = [",".join(texts)] if option.multiple else ",".join(texts)
            value = None
            with suppress(click.BadParameter):
                value = option.process_value(context, joined)
            if value and (option.metavar == "CSV" or (isinstance(value, tuple) and len(value) > 1)):
                assert option.multiple, (words, option.opts)
                assert option.process_value(context, texts) == value
                taken.append((*words, *option.opts))
    assert taken


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_program_prints_the_script_that_a_shell_loads(shell: str) -> None:
    program = [str(Path(sys.executable).parent / "bucketcast")]
    variables = {**os.environ, "_BUCKETCAST_COMPLETE": f"{shell}_source"}
    script = subprocess.run(program, env=variables, capture_output=True, text=True, check=True)
    assert f"_BUCKETCAST_COMPLETE={shell}_complete" in script.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("target", "ls", "--wat"), ["--watch"]),
        (("event", "add", "up"), ["uploads"]),
        (("event", "add", "uploads", ""), ["postgres:main", "webhook:primary"]),
        (("event", "add", "uploads", "webhook", ":"), ["primary"]),
        (("test", "webhook", ":", "pri"), ["primary"]),
        (("dlq", "ls", "webhook:p"), ["webhook:primary"]),  # where bash does not split it
        (("backfill", "uploads", "--target", "p"), ["postgres:main"]),
        (("--stack", "Other", "target", "pause", ""), [""]),
    ],
)
def test_the_shell_completes_options_targets_and_buckets(
    aws: MotoAws, words: tuple[str, ...], offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", shlex.join(("bucketcast", *words)))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    make = get_completion_class("bash")
    assert make
    obj = Output(aws=lambda **_: aws)
    lines = make(cli.bucketcast, {"obj": obj}, "bucketcast", "_BUCKETCAST_COMPLETE").complete()
    assert [line.removeprefix("plain,") for line in lines.split("\n")] == offered


ADD = "event add uploads webhook:primary"


@pytest.mark.parametrize(
    ("words", "field", "allowed"),
    [
        ("event ls --stack=", "--stack", "no name"),
        ("event add Uploads/x webhook:primary", "BUCKET", "invalid bucket name 'Uploads/x'; "),
        ("event add uploads primary", "TARGET", "invalid target 'primary'; allowed is KIND:ID"),
        (f"{ADD} --event putt", "--event", "did you mean 'put'?"),
        (f"{ADD} --event ,", "--event", "name at least one"),
        (f"{ADD} --prefix a/../b", "--prefix", "found '.' or '..' between slashes in 'a/../b'"),
        (f"{ADD} --prefix a\\b", "--prefix", "found a backslash in"),
        (f"{ADD} --prefix {'ä' * 513}", "--prefix", "found 1026 bytes; allowed are 1024"),
        (f"{ADD} --prefix \udcff", "--prefix", "not valid UTF-8"),
        (f"{ADD} --prefix a* --prefix b", "", "--prefix: found 'a*' with wildcards"),
        (f"{ADD} --name a:b", "--name", "invalid name 'a:b'; allowed are 1 to 255"),
        (f"{ADD} --name=", "--name", "invalid name ''"),
        (f"{ADD} --regex (a", "--regex", "allowed is RE2's syntax"),
        (f"{ADD} --tag class", "--tag", "'tag:class' is not a condition"),
        (f"{ADD} --metadata key=\udcff", "--metadata", "not valid UTF-8"),
        ("target pause arn:aws:sqs:x", "TARGET", "invalid target 'arn:aws:sqs:x'"),
        ("target add webhook endpoint=http://h", "TARGET", "invalid target 'webhook'"),
        ("target add webhook:audit endpoint", "KEY=VALUE...", "found 'endpoint'; allowed is NAME="),
        ("topic rm webhook:primary", "NAME|ARN", "1 to 256"),
        *(
            (f"dlq redrive webhook:primary --rate {n}", "--rate", n)
            for n in ("nan", "0.09", "100001")
        ),
        ("dlq redrive webhook:primary --to webhok:primary", "--to", "did you mean 'webhook'?"),
        ("dlq purge webhook:primary", "--file", "is missing"),
        ("explain s3://uploads/x --event put --size -1", "--size", "-1 is not in the range"),
        ("explain s3://uploads/x --event put --source-ip foo", "--source-ip", "found 'foo'; "),
        ("explain s3://uploads/x --event putt", "--event", "allowed are put, delete, get"),
        ("trace uploads/a", "s3://BUCKET/KEY", "invalid object 'uploads/a'"),
        ("trace s3://uploads", "s3://BUCKET/KEY", "invalid object 's3://uploads'"),
        ("listen s3://uploads/../x", "s3://BUCKET[/PREFIX]", "'../x'"),
        ("listen s3://uploads --event puts", "--event", "did you mean 'put'?"),
        ("test webhook:primary --timeout 5", "--timeout", "allowed is a duration with its unit"),
        ("user add ann --secret-key-file nowhere", "", "nowhere cannot be read"),
        ("explain nowhere.json", "", "nowhere.json cannot be read"),
    ],
)
def test_wrong_input_is_misuse_and_names_the_field_and_what_is_allowed(
    run: Run, words: str, field: str, allowed: str
) -> None:
    ran = run(*words.split(), "--json")
    assert (ran.code, ran.document["status"], ran.document["code"]) == (2, "error", "misuse")
    assert ran.err == ""
    assert ran.document.get("field", "") == field
    assert allowed in ran.document["error"]


def test_a_prefix_may_have_1024_bytes(run: Run, aws: MotoAws) -> None:  # noqa: ARG001 - it is asked
    assert run(*ADD.split(), "--prefix", "ä" * 512).code == 0
