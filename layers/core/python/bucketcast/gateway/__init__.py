"""The gateway: the API for `mc`, minio-py and boto3, as one ASGI application.

`request` is a request as received, `signature` verifies who signed it, and `authentication` admits
it. Then come the S3 notification API (`s3`), topics (`sns`), listeners (`listen`), admin
calls (`admin`), and a proxy to S3 for everything else. `app` joins them.
"""
