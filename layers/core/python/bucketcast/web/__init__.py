"""The common part of the gateway's APIs: requests, signatures, errors and XML, as S3 has them.

`request` is a request as received and `request_body` its body. `authentication` checks a call's
signature (`signature`) and finds its user. `errors` has S3's error responses, `responses` the type
of handlers, `xml` reads and writes documents, and `secure` decides if a call came over HTTPS. The
APIs themselves are the `api` modules of the features; `gateway` joins them.
"""
