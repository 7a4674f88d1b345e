"""Targets with `auth = "iam"`: who may log in to what, and to nothing else."""

from tests.infra.conftest import Make

MIRROR = "arn:aws:rds-db:eu-west-1:111122223333:dbuser:db-ABC/bucketcast"
LOG = "arn:aws:rds-db:eu-west-1:111122223333:dbuser:prx-ABC/writer"
CONFIG = f"""
[notify_postgres.mirror]
host = "db.abc.eu-west-1.rds.amazonaws.com"
database = "events"
table = "objects"
auth = "iam"
iam_resource = "{MIRROR}"
[notify_mysql.log]
host = "db.abc.eu-west-1.rds.amazonaws.com"
database = "events"
table = "log"
format = "access"
auth = "iam"
iam_resource = "{LOG}"
[pipeline]
"""
"""What each kind needs is in `tests/unit/targets/test_iam_rights.py`."""


def test_a_role_may_log_in_to_its_own_target_and_reconcile_to_the_mirror(make: Make) -> None:
    logins = [
        (policy, statement["Resource"])
        for policy, statement in make(CONFIG).statements()
        if "rds-db" in str(statement["Action"])
    ]
    roles = ["Pipelinereconcile", "Targetmysqllog", "Targetpostgresmirror"]
    owners = [next(role for role in roles if policy.startswith(role)) for policy, _ in logins]
    assert sorted(zip(owners, (resource for _, resource in logins), strict=True)) == [
        ("Pipelinereconcile", MIRROR),
        ("Targetmysqllog", LOG),
        ("Targetpostgresmirror", MIRROR),
    ]
