"""The gateway: one endpoint for `mc`, minio-py and boto3, as an ASGI application.

`app` authenticates S3 calls, has them judged by `rights`, and routes them: to the `api` modules of
the features (notifications, topics, listen), or to S3 itself through `proxy` (`forwarded` has what
S3 gets of a call). `bucket_list` lists the buckets on which a user has rights, `service_names` are
those that AWS's services use. `audit` logs changes by the names of `call_names`. `admin` has
MinIO's admin calls. `factory` builds the application of one deployment, for `functions/gateway` on
Lambda and for `server`, which runs it with uvicorn (`protocol` has its limits). `account_cache`
keeps users' accounts for some seconds. `command` is `bucketcast gateway`. Requests, signatures and
errors are in `web`.
"""
