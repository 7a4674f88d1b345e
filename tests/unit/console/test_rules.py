"""Rules are listed, added and removed, with the errors of the commands at the fields."""

import re

import pytest

from bucketcast.console.answers import ROWS
from bucketcast.rules import Rule
from tests.unit.console.site import Site
from tests.unit.moto_aws import WEBHOOK, MotoAws, configure

ADD = "/changes/add-rule"
REMOVE = "/changes/remove-rule"
RULE = {"bucket": "uploads", "arn": "webhook:primary", "events": "put"}
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def target(aws: MotoAws) -> None:  # noqa: ARG001 - it has the function
    configure("Bucketcast-webhook-primary", endpoint="https://example.org/hook")


def add(site: Site, **fields: str) -> None:
    answer = site.post(ADD, **RULE | fields)
    assert answer.status == 303, answer.text


def row(page: str, text: str) -> str:
    return next(each for each in page.split("<tr>") if text in each)


def test_a_rule_is_added_as_the_command_adds_it(site: Site) -> None:
    add(site, prefixes="in/\r\nou\u2028t/", source_ip="10.0.0.0/8", name="thumbs")
    page = site.get("/rules?bucket=uploads").text
    assert ">bucketcast event ls uploads</code>" in page
    for text in ("s3:ObjectCreated:*", "thumbs", "--if 'key^=in/'", "key^=ou", "source_ip="):
        assert text in page
    assert "key^=t/" not in page  # a line ends with CR and LF only
    assert '<a href="/targets/webhook:primary">webhook:primary</a>' in page


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("target=webhook:primary", {"photos", "several"}),
        ("prefix=photos/", {"photos"}),
        ("prefix=b/&target=webhook:primary", {"several"}),
        ("prefix=c/", set()),
        ("search=SEVER", {"several"}),
        ("bucket=uploads&target=postgres:main", set()),
    ],
)
def test_rules_are_found_by_target_text_and_prefix(site: Site, query: str, names: set[str]) -> None:
    add(site, prefixes="photos/2026/", name="photos")
    add(site, prefixes="a/\nb/", unless="key^=c/", name="several")
    page = site.get(f"/rules?{query}").text
    assert {name for name in ("photos", "several") if f">{name}</td>" in page} == names
    assert (f"{len(names)} of 2 rules" if len(names) < 2 else "2 rules") in page


def test_rules_come_by_the_page(site: Site, aws: MotoAws) -> None:
    for number in range(ROWS + 1):
        aws.rules.add(Rule(bucket="uploads", arn=WEBHOOK, events=("put",), name=f"n{number:02}"))
    first = site.get("/rules?search=n").text
    assert first.count(">remove …</a>") == ROWS
    assert 'href="/rules?search=n&page=2"' in first
    assert site.get("/rules?search=n&page=2").text.count(">remove …</a>") == 1


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("arn", "webhook:primry", "did you mean 'webhook:primary'?"),
        ("bucket", "--help", "invalid bucket name '--help'"),
        ("events", "all", "event: unknown event 'all'"),
    ],
)
def test_an_error_stands_at_its_field_in_the_commands_words(
    site: Site, field: str, value: str, problem: str
) -> None:
    answer = site.post(ADD, **RULE | {field: value})
    assert answer.status == 400
    assert problem in answer.text.split(f'id="about-{field}"')[1].split("</p>")[0]
    assert f'name="{field}" aria-describedby="about-{field}" aria-invalid="true"' in answer.text
    assert "uploads has no rules" in site.get("/rules?bucket=uploads").text
    assert site.get("/rules?bucket=--stack%3Dother").status == 400


def test_what_was_entered_stays_after_an_error_and_is_text(site: Site) -> None:
    answer = site.post(ADD, **RULE | {"regex": "(", "name": SCRIPT, "prefixes": "\n<"})
    assert answer.status == 400
    assert f'value="{SCRIPT}"' in answer.text
    assert SCRIPT not in answer.body
    assert "<details open>" in answer.body


def test_the_commands_notes_are_shown_once_a_rule_is_added(site: Site, aws: MotoAws) -> None:
    aws.s3.create_bucket(Bucket="other")
    answer = site.post(ADD, **RULE | {"bucket": "other"})
    page = site.get(answer.headers["location"]).text
    assert "is not connected to this deployment; connect it with `bucketcast bucket attach" in page
    assert "attach" not in site.get("/rules?printed=unknown").text


@pytest.mark.parametrize("fields", [{}, {"ids": ""}, {"ids": " "}])
def test_no_rule_is_removed_by_a_form_without_an_id(site: Site, fields: dict[str, str]) -> None:
    add(site, name="one")
    answer = site.post(REMOVE, bucket="uploads", yes="on", **fields)
    assert (answer.status, "one" in site.get("/rules").text) == (400, True)


def test_a_rule_is_removed_by_its_id(site: Site) -> None:
    add(site, name="one")
    add(site, name="two")
    (id_,) = {*re.findall(r"[0-9a-f]{16}", row(site.get("/rules?bucket=uploads").text, "two"))}
    assert site.post(REMOVE, bucket="uploads", ids=id_, yes="on").status == 303
    left = site.get("/rules?bucket=uploads").text
    assert ("one" in left, id_ in left) == (True, False)
