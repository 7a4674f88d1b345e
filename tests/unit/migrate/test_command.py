import io
from functools import partial
from pathlib import Path

import pytest

from bucketcast.config import load
from tests.unit.conftest import Run
from tests.unit.notifications.api.test_document import config, queue, rule

GUIDE = Path(__file__).parents[3] / "docs" / "moving-from-minio.md"
HIDDEN = "it's hunter2"
JPEG = partial(queue, events=("s3:ObjectCreated:*",), filters=rule("suffix", ".jpg"))


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "export.txt"
    path.write_text(
        "site name= region=eu-west-1 \n"
        f'notify_webhook:primary endpoint=https://h/ auth_token="{HIDDEN}" queue_dir=/events \n'
        "# notify_redis enable=off address= key= \n"
    )
    return path


@pytest.fixture
def xml(tmp_path: Path) -> Path:
    path = tmp_path / "images" / "notification.xml"
    path.parent.mkdir()
    path.write_text(config(JPEG()))
    return path


def test_imported_configuration_is_valid(run: Run, export: Path, tmp_path: Path) -> None:
    output = tmp_path / "bucketcast.toml"
    ran = run("import", "minio", str(export), "--output", str(output))
    assert (ran.code, ran.out) == (0, "")
    (target,) = load(output, {}, local=False).targets
    assert target.settings == {
        "endpoint": "https://h/",
        "auth_token": "secret:bucketcast/webhook-primary/auth_token",
    }
    assert HIDDEN not in ran.err + output.read_text()


def test_standard_input_is_read(run: Run, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(export.read_bytes())))
    assert "[notify_webhook.primary]" in run("import", "minio", "-").out


def test_the_commands_that_store_secrets_are_printed_without_values(run: Run, export: Path) -> None:
    assert run("import", "minio", str(export)).err.splitlines()[-1] == (
        "  aws secretsmanager create-secret --name bucketcast/webhook-primary/auth_token "
        "--secret-string 'VALUE OF notify_webhook.primary.auth_token'"
    )


def test_keys_and_certificates_are_files_of_the_minio_server(run: Run, tmp_path: Path) -> None:
    export = tmp_path / "export.txt"
    export.write_text(
        "notify_webhook:a endpoint=https://h/ client_cert=/no/where.pem client_key=/no/where.key"
    )
    ran = run("import", "minio", str(export))
    assert 'client_cert = "/no/where.pem"' in ran.out
    assert 'client_key = "secret:bucketcast/webhook-a/client_key"' in ran.out
    noted = "note: notify_webhook.a.client_cert: copy /no/where.pem from the MinIO server"
    assert noted in ran.said(0)
    assert "--secret-string file:///no/where.key" in ran.err


def test_the_bucket_can_be_given(run: Run, xml: Path) -> None:
    assert run("import", "minio", str(xml), "--bucket", "photos").out.split()[3] == "photos"


def test_configuration_and_rules_are_imported_together(
    run: Run, export: Path, xml: Path, tmp_path: Path
) -> None:
    ran = run("import", "minio", str(export), str(xml))
    assert (ran.code, ran.out) == (2, "")
    assert "write the configuration to a file with --output FILE" in ran.err
    output = tmp_path / "bucketcast.toml"
    ran = run("import", "minio", str(export), str(xml), "--output", str(output))
    assert ran.out.startswith("bucketcast event add images")
    made = load(output, {}, local=False)
    assert not made.buckets["images"].create


def test_import_prints_json(run: Run, export: Path, xml: Path) -> None:
    ran = run("import", "minio", str(export), str(xml), "--json")
    assert (ran.code, ran.err) == (0, "")
    document = ran.document
    assert document["targets"] == ["arn:minio:sqs::primary:webhook"]
    assert "[notify_webhook.primary]" in document["configuration"]
    assert document["secrets"][0]["name"] == "bucketcast/webhook-primary/auth_token"
    assert document["rules"][0]["suffix"] == ".jpg"
    assert document["left_out"][0]["what"] == "site"
    assert HIDDEN not in ran.out


def test_guide_shows_the_actual_output(
    run: Run, xml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("export.txt").write_text(
        "site name= region= \napi requests_max=0 sync_events=off \nscanner speed=default \n"
        "# notify_kafka enable=off topic= \n# notify_redis enable=off key= \n"
        "notify_webhook:primary endpoint=https://h/ auth_token=x queue_dir=/home/events \n"
    )
    xml.write_text(config(JPEG(arn="arn:minio:sqs:us-east-1:1:webhook")))
    for line in GUIDE.read_text(encoding="utf-8").splitlines():
        if line.startswith("$ bucketcast import"):
            words = line.replace("*/", "images/").split()[2:]
            ran = run(*words)
            assert ran.code == 0
            assert f"{line}\n{ran.out}{ran.err}" in GUIDE.read_text(encoding="utf-8")


def test_an_existing_file_is_not_overwritten(run: Run, export: Path, tmp_path: Path) -> None:
    output = tmp_path / "bucketcast.toml"
    output.write_text("mine")
    ran = run("import", "minio", str(export), "--output", str(output))
    assert f"Overwrite {output}? This cannot be asked here: add --yes" in ran.said(2)
    assert output.read_text() == "mine"
    assert run("import", "minio", str(export), "--output", str(output), "--yes").code == 0
    assert output.read_text() != "mine"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("notify_foo:1 url=x", "unknown sub-system 'notify_foo'"),
        (
            "notify_webhook:1 endpoint=nowhere",
            "notify_webhook.1.endpoint: found 'nowhere'; allowed",
        ),
        (
            "notify_webhook:1 endpoint=http://h/ endpont=b",
            "notify_webhook.1.endpont: unknown key; did you mean 'endpoint'? allowed are ",
        ),
        ("notify_webhook:1 auth_token=x", "notify_webhook.1.endpoint: missing; a url is needed"),
        ("notify_webhook:a.b endpoint=http://h/", "found the id 'a.b'; 1 to 32 of"),
    ],
)
def test_invalid_files_are_misuse_and_nothing_is_written(
    run: Run, export: Path, tmp_path: Path, text: str, problem: str
) -> None:
    export.write_text(text)
    output = tmp_path / "out.toml"
    ran = run("import", "minio", str(export), "--output", str(output))
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert not output.exists()
    assert run("import", "minio", str(export), "--json").document["errors"]


@pytest.mark.parametrize(
    ("refused", "key", "said"),
    [
        ("p endpoint=http://h/ timeout=soon", "p.timeout", "found 'soon'; "),
        ("primary.q endpoint=http://h/", "primary.q", "found the id 'primary.q'; "),
    ],
)
def test_a_target_that_a_deploy_refuses_is_left_out_and_the_rest_is_written(
    run: Run, export: Path, tmp_path: Path, refused: str, key: str, said: str
) -> None:
    export.write_text(f"{export.read_text()}notify_webhook:{refused}\n")
    output = tmp_path / "bucketcast.toml"
    ran = run("import", "minio", str(export), "--output", str(output))
    assert f"left out: notify_webhook.{key}: {said}" in ran.said(1)
    assert [target.id for target in load(output, {}, local=False).targets] == ["primary"]
    (problem,) = run("import", "minio", str(export), "--json").document["refused"]
    assert problem.startswith(f"notify_webhook.{key}: ")


def test_a_secret_that_the_gateway_hides_is_not_taken_for_one(run: Run, export: Path) -> None:
    export.write_text('notify_webhook:p endpoint="http://h/" auth_token="*redacted*"\n')
    ran = run("import", "minio", str(export))
    assert (ran.code, ran.out) == (2, "")
    assert "notify_webhook.p.auth_token: found *redacted*; allowed is the secret itself" in ran.err


def test_rules_that_event_add_refuses_are_refused(run: Run, xml: Path) -> None:
    xml.write_text(xml.read_text().replace(".jpg", "../x"))
    ran = run("import", "minio", str(xml))
    assert (ran.code, ran.out) == (2, "")
    assert "found '.' or '..' between slashes" in ran.err


def test_a_file_that_cannot_be_read_or_written(run: Run, export: Path, tmp_path: Path) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"notify_webhook comment=\xe9")
    assert "not UTF-8 text" in run("import", "minio", str(latin)).said(2)
    ran = run("import", "minio", str(export), "--output", str(tmp_path / "no" / "where.toml"))
    assert "cannot be written: No such file or directory" in ran.said(1)
