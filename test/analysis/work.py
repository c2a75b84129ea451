"""What bench-analysis asks, in Python: work.py pandas|polars FILE.

Prints the answers as JSON, with the seconds that the work took without
starting Python and without imports."""
import json
import sys
import time

library, path = sys.argv[1:]
quantiles = [0.05, 0.25, 0.5, 0.75, 0.95]
facts = ["zone", "cpu_model", "type", "node"]


def with_pandas():
    if path.endswith(".parquet"):
        df = pd.read_parquet(path)
    else:
        df = pd.read_csv(path)
        df["time"] = pd.to_datetime(df["time"], format="ISO8601")
    v = df["value"]
    groups = {}
    for f in facts:
        g = df.groupby(f, observed=True)["value"].agg(["mean", "std"])
        groups[f] = {level: [row["mean"], row["std"]] for level, row in g.iterrows()}
    return {"rows": len(df), "mean": v.mean(), "sd": v.std(), "quantiles": list(v.quantile(quantiles)), "groups": groups}


def with_polars():
    df = pl.read_parquet(path) if path.endswith(".parquet") else pl.read_csv(path, try_parse_dates=True)
    v = df["value"]
    groups = {}
    for f in facts:
        g = df.group_by(f).agg(pl.col("value").mean().alias("mean"), pl.col("value").std().alias("sd"))
        groups[f] = {level: [mean, sd] for level, mean, sd in g.iter_rows()}
    return {"rows": len(df), "mean": v.mean(), "sd": v.std(), "quantiles": [v.quantile(q, "linear") for q in quantiles], "groups": groups}


if library == "pandas":
    import pandas as pd
    work = with_pandas
else:
    import polars as pl
    work = with_polars
begin = time.monotonic()
answer = work()
answer["seconds"] = time.monotonic() - begin
json.dump(answer, sys.stdout)
