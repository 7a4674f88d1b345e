"""The control plane: what `mc`, minio-py and boto3 call, as one ASGI application.

`call` is a request as it came, `signature` says whose it is, `gate` lets it in; behind it are the
S3 notification API, and the way on to S3 itself for everything else. `app` joins them.
"""
