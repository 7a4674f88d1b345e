"""The types of errors of Elasticsearch and OpenSearch, as the servers' own jars have them."""

import re
from collections.abc import Iterator
from zipfile import ZipFile

import pytest

from bucketcast.targets.elasticsearch.answers import ANSWERS
from tests.servers.elasticsearch import PRODUCTS
from tests.servers.search_node import jars

NOT_FOR_WRITES = re.compile(
    "/(bootstrap|cli|client|compress|crypto|decommission|discovery|env|gateway|http|inject|plugins"
    "|query|recovery|reindex|remote|replication|repositories|rest|routing|search|seqno|settings"
    "|snapshots|store|text|translog|transport|blobstore)(/|$)"
)
"""Packages of what creates no index and writes no document."""
BY_STATUS = """
action_request_validation alias_filter_parsing already_set append_only_index_operation_retry
broadcast_shard_operation_failed cluster_manager_throttling coordination_state_rejected corruption
default_shard_operation_failed discarded_responses document_missing document_source_missing engine
engine_creation_failure execution_cancelled failed_node failed_to_commit_cluster_state
flush_failed_engine general_script generation graph_structure illegal_index_shard_state
incompatible_cluster_state_version index_creation index_primary_shard_not_allocated
index_shard_closed index_shard_not_recovering index_shard_not_started index_shard_recovering
index_shard_recovery index_shard_relocated index_shard_started index_template_missing
ingest_processor invalid_index_context invalid_index_template invalid_type_name mapper
missing_history_operations named_object_not_found no_longer_primary_shard no_such_node
node_health_check_failure node_validation not_cluster_manager not_master parse
primary_missing_action primary_shard_closed recovery_engine refresh_failed_engine rejected_execution
resource_not_found response_limit_breached routing_missing script segment_upload_failed server
shard_not_found shard_not_in_primary_mode shard_operation_failed snapshot_failed_engine status
task_cancelled timeout timestamp_parsing type_missing uncategorized_execution wrapper
x_content_parse
"""
"""What has no other verdict than its status, from 500 on: it is tried again, alone, and logged."""


def types_of(product: str) -> Iterator[str]:
    """Yield what the product's `getExceptionName` makes of its classes' names."""
    for jar in jars(product):
        for file in ZipFile(jar).namelist():
            package, _, name = file.rpartition("/")
            own = package.startswith(f"org/{product}") and name.endswith("Exception.class")
            if own and not NOT_FOR_WRITES.search(package):
                name = name.removesuffix(".class").rpartition("$")[2]
                short = re.sub("^(Elasticsearch|OpenSearch)", "", name)
                yield re.sub("(?<=.)([A-Z])", r"_\1", short).lower()


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_type_has_a_verdict(product: str) -> None:
    known = {"exception", *(f"{each}_exception" for each in BY_STATUS.split())}
    found = set(types_of(product))
    assert "mapper_parsing_exception" in found
    assert [each for each in found - known if not ANSWERS.find("", [each])] == []
