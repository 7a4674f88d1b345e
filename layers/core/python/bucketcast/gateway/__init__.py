"""The gateway: one endpoint for `mc`, minio-py and boto3, as an ASGI application.

`app` authenticates S3 calls, lets `judge` judge them by `rights`, and routes them: to the `api`
modules of the features (notifications, topics, listen), or to S3 itself through `proxy`.
`ownership` keeps whose a bucket is, `bucket_list` lists those of a user. `admin` has MinIO's admin
calls. `factory` builds the application of one deployment, for `functions/gateway` on Lambda and for
`server`, which runs it with uvicorn (`protocol` has its limits). `account_cache` keeps users'
accounts for some seconds. `command` is `bucketcast gateway`. Requests, signatures and errors are in
`web`.
"""
