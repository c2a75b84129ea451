"""What bench-analysis asks, in Python: work.py pandas|polars brief|full FILE.

Prints the answers as JSON, with the seconds that the work took without
starting Python and without imports."""
import json
import sys
import time

library, depth, path = sys.argv[1:]
quantiles = [0.05, 0.25, 0.5, 0.75, 0.95]
facts = ["zone", "cpu_model", "type", "node"]
calendar = ["hour", "weekday", "day", "week"]
shown = ["zone", "cpu_model", "node", "hour"]  # by which the report shows groups
inner = [0.01, 0.25, 0.5, 0.75, 0.99]  # of each group, in the report
stretches = {"day": "day", "hour": "stretch", "hour of day": "hour", "day of week": "weekday"}


def read_pandas():
    if path.endswith(".parquet"):
        return pd.read_parquet(path)
    df = pd.read_csv(path)
    df["time"] = pd.to_datetime(df["time"], format="ISO8601")
    return df


def read_polars():
    return pl.read_parquet(path) if path.endswith(".parquet") else pl.read_csv(path, try_parse_dates=True)


def brief_pandas():
    df = read_pandas()
    v = df["value"]
    groups = {}
    for f in facts:
        g = df.groupby(f, observed=True)["value"].agg(["mean", "std"])
        groups[f] = {level: [row["mean"], row["std"]] for level, row in g.iterrows()}
    return {"rows": len(df), "mean": v.mean(), "sd": v.std(), "quantiles": list(v.quantile(quantiles)), "groups": groups}


def brief_polars():
    df = read_polars()
    v = df["value"]
    groups = {}
    for f in facts:
        g = df.group_by(f).agg(pl.col("value").mean().alias("mean"), pl.col("value").std().alias("sd"))
        groups[f] = {level: [mean, sd] for level, mean, sd in g.iter_rows()}
    return {"rows": len(df), "mean": v.mean(), "sd": v.std(), "quantiles": [v.quantile(q, "linear") for q in quantiles], "groups": groups}


def full_pandas():
    df = read_pandas()
    t = df["time"].dt
    df["hour"], df["weekday"], df["day"], df["stretch"] = t.hour, t.day_of_week, t.floor("D"), t.floor("h")
    df["week"] = (df["day"] - pd.Timestamp("1970-01-05", tz="UTC")).dt.days // 7
    moments, groups = {}, {}
    for f in facts + calendar + ["stretch"]:
        by = df.groupby(f, observed=True)["value"]
        m = by.agg(["size", "mean", "std"])
        moments[f] = (m["size"].to_numpy(), m["mean"].to_numpy(), m["std"].to_numpy())
        if f in facts:
            q = by.quantile(inner).unstack()
            groups[f] = {level: [int(n), mean, sd / mean] + list(q.loc[level]) for level, n, mean, sd in m.itertuples()}
    rests = (df["value"].to_numpy() - df.groupby(f, observed=True)["value"].transform("mean").to_numpy() for f in shown)
    return report(df["value"].to_numpy(), df["value"].median(), moments, groups, rests)


def full_polars():
    t, v = pl.col("time").dt, pl.col("value")
    df = read_polars().with_columns(
        t.hour().alias("hour"), t.weekday().alias("weekday"), t.truncate("1d").alias("day"), t.truncate("1w").alias("week"), t.truncate("1h").alias("stretch"))
    moments, groups = {}, {}
    for f in facts + calendar + ["stretch"]:
        which = [v.quantile(q, "linear").alias(str(q)) for q in inner] if f in facts else []
        m = df.group_by(f).agg(pl.len().alias("n"), v.mean().alias("mean"), v.std().alias("sd"), *which)
        moments[f] = tuple(m[name].to_numpy() for name in ["n", "mean", "sd"])
        if f in facts:
            groups[f] = {level: [n, mean, sd / mean, *q] for level, n, mean, sd, *q in m.iter_rows()}
    rests = (df.select(v - v.mean().over(f))["value"].to_numpy() for f in shown)
    return report(df["value"].to_numpy(), df["value"].median(), moments, groups, rests)


def effective(v):
    """How many independent values a series is worth, by Geyer's initial monotone
    sequence, as emcee, ArviZ and the report have it; of more than a million values
    by means of neighbours, as in the report."""
    n = len(v)
    size = -(-n // 2**20)
    if size == 1:
        return n / monotone(v, n)
    begins = np.arange(n // size) * size
    means = np.add.reduceat(v, begins) / np.diff(begins, append=n)
    return min(n, len(means) / monotone(means, len(means)) * v.var() / means.var())


def monotone(v, n):
    size = fft.next_fast_len(2 * n, real=True)
    spectrum = fft.rfft(v - v.mean(), size)
    r = fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[: n // 2 * 2]
    pairs = (r[::2] + r[1::2]) / r[0]
    pairs = pairs[: np.argmax(pairs <= 0)]
    return max(1, 2 * np.minimum.accumulate(pairs).sum() - 1)


def report(v, median, moments, groups, rests):
    """What NumPy and SciPy do for either: eta squared and its F test, the
    decomposition, autocorrelation, effective sizes of the values and of what is left
    of them besides each fact that is shown, drift, skewness, histogram and density."""
    mean, sd = v.mean(), v.std(ddof=1)
    total, rows = sd * sd * (len(v) - 1), len(v)
    eta = {}
    for f in facts + calendar:
        n, means, _ = moments[f]
        between = (n * (means - mean) ** 2).sum()
        eta[f] = between / total
        stats.f.sf(between / (len(n) - 1) / ((total - between) / (rows - len(n))), len(n) - 1, rows - len(n))
    between, within = {}, {}
    for name, f in stretches.items():
        n, means, sds = moments[f]
        between[name] = means.std(ddof=1) / means.mean()
        within[name] = np.nanmean(sds / means)
    for rest in rests:
        effective(rest)
    off = v - mean
    acf = [float(off[: rows - k] @ off[k:] / (off @ off)) for k in range(1, 11)]
    neighbours = [np.median(part) for part in np.array_split(v, 1500)]
    stats.theilslopes(neighbours), stats.kendalltau(range(1500), neighbours)
    stats.skew(v), stats.kurtosis(v)
    counts, edges = np.histogram(v, bins=512)
    stats.gaussian_kde((edges[1:] + edges[:-1]) / 2, weights=counts)(np.linspace(v.min(), v.max(), 200))
    return {"rows": rows, "mean": mean, "sd": sd, "median": median, "min": v.min(), "max": v.max(), "lag1": acf[0], "effective": effective(v),
            "eta2": eta, "between": between, "in": within, "groups": groups}


if library == "pandas":
    import pandas as pd
else:
    import polars as pl
if depth == "full":
    import numpy as np
    from scipy import fft, stats
work = globals()[depth + "_" + library]
begin = time.monotonic()
answer = work()
answer["seconds"] = time.monotonic() - begin
json.dump(answer, sys.stdout, default=float)
