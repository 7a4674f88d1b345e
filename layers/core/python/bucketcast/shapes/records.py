"""The common part of the records of S3, MinIO and Ceph; fields are in the order on the wire."""

from typing import Generic, TypeVar

import msgspec

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
BucketT = TypeVar("BucketT")
ObjectT = TypeVar("ObjectT")


class Identity(msgspec.Struct, gc=False):
    principalId: str


class Request(msgspec.Struct, gc=False):
    sourceIPAddress: str


class Response(msgspec.Struct, gc=False):
    request_id: str = msgspec.field(name="x-amz-request-id")
    host_id: str = msgspec.field(name="x-amz-id-2")


class Bucket(msgspec.Struct, gc=False):
    name: str
    ownerIdentity: Identity
    arn: str


class S3(msgspec.Struct, Generic[BucketT, ObjectT], gc=False):
    s3SchemaVersion: str
    configurationId: str
    bucket: BucketT
    object: ObjectT


class Record(msgspec.Struct, Generic[RequestT, ResponseT, BucketT, ObjectT], gc=False):
    eventVersion: str
    eventSource: str
    awsRegion: str
    eventTime: str
    eventName: str
    userIdentity: Identity
    requestParameters: RequestT
    responseElements: ResponseT
    s3: S3[BucketT, ObjectT]
