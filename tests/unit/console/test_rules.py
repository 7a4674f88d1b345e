"""Rules are listed, tried, added and removed, with the errors of the commands at the fields."""

from urllib.parse import urlencode

import pytest

from tests.unit.console.site import Site
from tests.unit.moto_aws import MotoAws, configure

WEBHOOK = {"bucket": "uploads", "arn": "webhook:primary", "events": "put"}
ADD = "/rules/add?bucket=uploads&arn=webhook:primary&events=put"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def target(aws: MotoAws) -> None:  # noqa: ARG001 - it has the function
    configure("Bucketcast-webhook-primary", endpoint="https://example.org/hook")


def add(site: Site, **fields: str) -> None:
    answer = site.post("/rules/add", **WEBHOOK | fields)
    assert answer.status == 303, answer.text


def test_a_rule_is_added_as_the_command_adds_it(site: Site) -> None:
    add(site, prefixes="in/\r\nou\u2028t/", source_ip="10.0.0.0/8", name="thumbs")
    page = site.get("/rules?bucket=uploads").text
    assert ">bucketcast event ls uploads</code>" in page
    for text in (
        "s3:ObjectCreated:*",
        "thumbs",
        "--if 'key^=in/'",
        "key^=ou",
        "source_ip=",
    ):
        assert text in page
    assert "key^=t/" not in page  # a line ends with CR and LF only
    assert '<a href="/targets/webhook:primary">webhook:primary</a>' in page


def test_a_rule_is_tried_with_the_reasons_of_the_others_and_nothing_is_added(site: Site) -> None:
    add(site, suffixes=".png", name="pictures")
    page = site.get(f"{ADD}&suffixes=.jpg&size=1KiB-&key=a/b.jpg").text
    row = page.split("<b>this rule</b>")[1]
    assert 'matches">yes<' in row.split("</tr>")[0]
    assert "taken as met, as the values are unknown: size is in '1KiB-'" in row
    other = page.split("<td>pictures</td>")[1]
    assert 'matches">no<' in other.split("</tr>")[0]
    assert "suffix" in other
    assert "bucketcast explain s3://uploads/a/b.jpg --event put" in page
    assert "event add --event put --suffix .jpg --size 1KiB- uploads webhook:primary" in page
    assert ">no<" in site.get(f"{ADD}&suffixes=.jpg&key=a/b.txt").text.split("this rule")[1]
    assert ".jpg" not in site.get("/rules").text


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("arn", "webhook:primry", "did you mean 'webhook:primary'?"),
        ("arn", "nothing", "Invalid value for 'TARGET'"),
        ("bucket", "--help", "invalid bucket name '--help'"),
        ("regex", "(", "Invalid value for '--regex'"),
        ("size", "many", "Invalid value for '--size'"),
        ("events", "all", "Invalid value for '--event'"),
        ("try", "all", "invalid event 'all'"),
    ],
)
def test_an_error_stands_at_its_field_in_the_commands_words(
    site: Site, field: str, value: str, problem: str
) -> None:
    fields = WEBHOOK | {field: value}
    tried = f"/rules/add?{urlencode(fields | {'key': 'a'})}"
    answer = site.get(tried) if field == "try" else site.post("/rules/add", **fields)
    assert answer.status == 400
    shown = answer.text.split(f'id="about-{field}"')[1].split("</p>")[0]
    assert problem in shown
    assert f'name="{field}" aria-describedby="about-{field}" aria-invalid="true"' in answer.text
    assert "uploads has no rules" in site.get("/rules?bucket=uploads").text


def test_what_was_entered_stays_after_an_error_and_is_text(site: Site) -> None:
    answer = site.post("/rules/add", **WEBHOOK | {"regex": "(", "name": SCRIPT, "prefixes": "\n<"})
    assert answer.status == 400
    assert f'value="{SCRIPT}"' in answer.text
    assert SCRIPT not in answer.body
    assert "<details open>" in answer.body


def test_the_commands_notes_are_shown_once_a_rule_is_added(site: Site, aws: MotoAws) -> None:
    aws.s3.create_bucket(Bucket="other")
    answer = site.post("/rules/add", **WEBHOOK | {"bucket": "other"})
    page = site.get(answer.headers["location"]).text
    assert "is not connected to this deployment; connect it with `bucketcast bucket attach" in page
    assert "attach" not in site.get("/rules?bucket=other&printed=unknown").text


def test_a_rule_is_removed_after_a_question(site: Site) -> None:
    add(site, name="one")
    add(site, name="two", prefixes="x/")
    listed = site.get("/rules?bucket=uploads").text
    rows = [row for row in listed.split("<tr>") if "two" in row]
    address = rows[0].split('href="/rules/remove?')[1].split('"')[0]
    question = site.get(f"/rules/remove?{address}").text
    assert "Remove this rule of uploads?" in question
    assert "prefix: x/" in question
    id_ = address.split("id=")[1]
    assert f"bucketcast event rm uploads --id {id_}" in question
    assert "two" in site.get("/rules").text
    site.post("/rules/remove", bucket="uploads", id=id_)
    assert "two" not in site.get("/rules").text
    assert "one" in site.get("/rules").text
    assert site.get(f"/rules/remove?{address}").status == 404
    again = site.post("/rules/remove", bucket="uploads", id=id_)
    assert (again.status, "nothing was removed" in again.text) == (400, True)


def test_rules_are_filtered_by_target(site: Site) -> None:
    add(site, name="one")
    assert "one" in site.get("/rules?target=webhook:primary").text
    assert "one" not in site.get("/rules?target=postgres:main").text
