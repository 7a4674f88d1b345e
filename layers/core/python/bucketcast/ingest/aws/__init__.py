"""What ingest asks S3 about an object, where the record says too little."""
