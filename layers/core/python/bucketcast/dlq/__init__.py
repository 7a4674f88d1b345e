"""Dead letters as people handle them: read, filtered, counted, redriven. It knows no SQS calls."""
