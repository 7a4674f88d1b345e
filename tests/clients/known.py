"""The tests that do not pass through the gateway, and why; docs/clients.md explains the reasons."""

from typing import Final

_ADMIN: Final = "users are added by `bucketcast user add`"
_ATIME: Final = "compares access times, which reading the file changes"
_CHECKSUM: Final = (
    "the local S3 refuses the checksum of a multipart upload, and returns none of a put"
)
_CORS: Final = "the local S3 allows every origin"
_FORM: Final = "a POST form, which the gateway refuses"
_MINIO: Final = "only MinIO has it"
_OWNERS: Final = "expects a listing of uploads without their owners, which S3 returns"
_REGION: Final = "a bucket of another region, which S3 serves at another endpoint"
_RIGHTS: Final = "a bucket that does not exist, which is refused like another user's"
_S3: Final = "S3 refuses it for new buckets or new customers"
_V2: Final = "Signature Version 2, which S3 refuses for new buckets"

KNOWN: Final[dict[str, dict[str, str]]] = {
    "mc": {
        "test_admin_users": _ADMIN,
        "test_cat_stdin": _CHECKSUM,
        "test_copy_object_preserve_filesystem_attr": _ATIME,
        "test_presigned_post_policy_error": _FORM,
        "test_presigned_put_object": _FORM,
    },
    "minio-py": {
        "test_select_object_content": _S3,
        "test_set_get_bucket_versioning": _MINIO,
        "test_upload_snowball_objects": _MINIO,
        "test_upload_snowball_objects_with_staging": _MINIO,
    },
    "minio-go": {
        "testCors_2_preflight_to_object_url_matches_example1_rule": _CORS,
        "testComposeMultipleSources": _V2,
        "testComposeObjectErrorCasesWrapper": _V2,
        "testCopyObjectV2": _V2,
        "testFGetObjectContextV2": _V2,
        "testFPutObjectContextV2": _V2,
        "testFPutObjectV2": _V2,
        "testFunctionalV2": _V2,
        "testGetObjectACLContext": _S3,
        "testGetObjectAttributes": _CHECKSUM,
        "testGetObjectAttributesErrorCases": _RIGHTS,
        "testGetObjectClosedTwiceV2": _V2,
        "testGetObjectContextV2": _V2,
        "testGetObjectRanges": _CHECKSUM,
        "testGetObjectReadAtFunctionalV2": _V2,
        "testGetObjectReadSeekFunctionalV2": _V2,
        "testGetObjectS3Zip": _MINIO,
        "testListMultipartUpload": _OWNERS,
        "testMakeBucketErrorV2": _V2,
        "testMakeBucketRegions": _REGION,
        "testMakeBucketRegionsV2": _V2,
        "testPresignedPostPolicy": _FORM,
        "testPresignedPostPolicyWrongFile": _FORM,
        "testPutMultipartObjectWithChecksums": _CHECKSUM,
        "testPutObject0ByteV2": _V2,
        "testPutObjectContextV2": _V2,
        "testPutObjectNoLengthV2": _V2,
        "testPutObjectReadAt": _CHECKSUM,
        "testPutObjectWithAutomaticChecksums": _CHECKSUM,
        "testPutObjectWithChecksums": _CHECKSUM,
        "testPutObjectWithMetadata": _CHECKSUM,
        "testPutObjectWithTrailingChecksums": _CHECKSUM,
        "testPutObjectsUnknownV2": _V2,
        "testRemoveObjects": _CHECKSUM,
        "testTrailingChecksums": _CHECKSUM,
        "testUserMetadataCopyingWrapper": _V2,
    },
    "aws-cli": {},
}
