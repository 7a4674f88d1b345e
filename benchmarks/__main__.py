"""All benchmarks, one after the other: `python -m benchmarks`."""

from benchmarks import coldstart, dispatch, ingest

for benchmark in (ingest, dispatch, coldstart):
    print(f"\n# {benchmark.__name__}: {(benchmark.__doc__ or '').splitlines()[0]}", flush=True)
    benchmark.main()
