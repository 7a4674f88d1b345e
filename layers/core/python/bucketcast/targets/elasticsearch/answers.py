"""What becomes of an event by HTTP's statuses and the types of errors in their bodies.

A type is the name of a class of the server: Elasticsearch and OpenSearch have most in common. The
status counts where the body names no type; of a type that is not listed, up to 499.
`TYPE/503` is that type with a 502 or 503, from a cluster that cannot answer at all.
"""

from bucketcast.targets.base.answers import Answers, Verdict, of_connections, of_http

BLOCKED = (
    "free space on its disks, or take the block away (index.blocks.* set to null): nothing is lost"
)
_LOGIN = (
    "see the login (in url, username with password, api_key or iam_resource), and what it may do"
)
_SUITS = "does its scheme (http, https) suit the port?"
_REACH = f"is url right, does its network let this function in, and {_SUITS}"
_MAPPING = "mapper_parsing_exception document_parsing_exception strict_dynamic_mapping_exception"

ANSWERS = Answers(
    # Not the document is at fault but the index, whose limit can be raised.
    Verdict.AGAIN(
        f"{_MAPPING} illegal_argument_exception",
        "raise index.mapping.total_fields.limit",
        "Limit of total fields [",
    ),
    Verdict.ROW(_MAPPING, "change the mapping of the index"),
    Verdict.ROW(
        "illegal_argument_exception",
        "change the mapping of the index",
        "cannot be changed from type",
        "immense term",
    ),
    *of_http("url"),
    Verdict.AWAY(
        "cluster_block_exception/503 cluster_manager_not_discovered_exception/503"
        " master_not_discovered_exception/503"
    ),
    Verdict.AGAIN("cluster_block_exception index_create_block_exception", BLOCKED),
    Verdict.LOGIN("security_exception 401 403 407", _LOGIN),
    Verdict.SLOWER("Retry-After 429 circuit_breaking_exception es_rejected_execution_exception"),
    Verdict.HALVE("413", "raise http.max_content_length, or the limit of a proxy before it"),
    Verdict.SETTINGS("300-303 305-308", "set url to {location}"),
    Verdict.AWAY("502 503"),  # a proxy whose server is away
    Verdict.SILENT("504"),  # a proxy whose server is slow
    Verdict.AGAIN(
        "304 402 404-406 408-412 414-418 421-426 428 431 451 500 501 505-508 510 511"
        " index_closed_exception index_not_found_exception"
        " invalid_alias_name_exception invalid_index_name_exception no_shard_available_action"
        "_exception node_closed_exception parsing_exception process_cluster_event_timeout_exception"
        " resource_already_exists_exception search_phase_execution_exception"
        " unavailable_shards_exception validation_exception version_conflict_engine_exception"
    ),
    Verdict.ROW("illegal_argument_exception 400", "see mapping and pipelines of the index"),
    connections=(
        Verdict.SILENT("HTTPError", _REACH, "timed out"),
        Verdict.AWAY("NewConnectionError", _REACH),  # a time-out, by its class
        *of_connections("the server", "url", _SUITS, "HTTPError"),
        Verdict.AWAY("HTTPError", _REACH),
    ),
)
