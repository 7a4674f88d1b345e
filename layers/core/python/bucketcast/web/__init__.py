"""What the gateway's APIs share: requests, signatures, errors and XML as S3 has them."""
