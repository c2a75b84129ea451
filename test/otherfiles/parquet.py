# Draws Parquet files at random and prints what a second reader finds in each, as lines of JSON:
#   python parquet.py FOLDER NUMBER SEED
import json, math, sys
import duckdb, numpy as np, pandas as pd, polars as pl, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq

folder, number, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(seed)
pick = lambda *of: of[rng.integers(len(of))]

def values():
    """A column of values, positive and with a mean well above 0."""
    n = int(pick(1, 2, 3, 10, 100, 1000, 20_000, int(rng.integers(2, 60_000))))
    shape = pick("normal", "steps", "constant", "mixture", "blocks")
    v = {
        "normal": lambda: rng.normal(100, 15, n),
        "steps": lambda: rng.integers(50, 60, n).astype(float),
        "constant": lambda: np.full(n, 42.0),
        "mixture": lambda: np.where(rng.random(n) < .2, 20, 100) + rng.normal(0, 1, n),
        "blocks": lambda: np.repeat(rng.normal(100, 20, n // 50 + 1), 50)[:n],
    }[shape]()
    v = np.clip(v, 1, 250)
    kind = pick("double", "double", "float", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "half", "decimal")
    if kind == "decimal":
        a = pa.array(np.round(v, 2)).cast(pa.decimal128(int(pick(7, 12, 30)), 2), safe=False)
    elif kind == "half":
        a = pa.array(v.astype(np.float16))
    elif kind in ("double", "float"):
        a = pa.array(v.astype({"double": np.float64, "float": np.float32}[kind]))
    else:
        a = pa.array(np.minimum(v, 120).astype(kind))
    missing = pick(0, 0, .01, .5)
    if missing:
        a = pc.if_else(pa.array(rng.random(n) >= missing), a, pa.nulls(n, a.type))
    return a

def times(n):
    at = pd.to_datetime("2026-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 86_400_000 * 30, n)), unit="ms")
    form = pick("none", "s", "ms", "us", "ns", "local", "text", "unix")
    if form == "none":
        return form, None
    if form == "text":
        return form, pa.array([t.isoformat(timespec="milliseconds") + "Z" for t in at])
    if form == "unix":
        return form, pa.array((at.astype("datetime64[ms]").astype("int64")))
    if form == "local":
        return form, pa.array(at.astype("datetime64[us]"), pa.timestamp("us"))
    return form, pa.array(at.tz_localize("UTC"), pa.timestamp("ms", "UTC")).cast(pa.timestamp(form, "UTC"), safe=False)

def write(name, table):
    writer = pick("pyarrow", "pyarrow", "pyarrow", "polars", "duckdb", "pandas")
    half = any(pa.types.is_float16(f.type) for f in table.schema)
    if writer in ("polars", "duckdb") and half:
        writer = "pyarrow"
    group = int(pick(7, 100, 5000, 1_000_000))
    if writer == "pyarrow":
        codec = pick("none", "snappy", "gzip", "zstd", "brotli", "lz4")
        dictionary = pick(True, False)
        how = {}
        if not dictionary:
            value = table.schema.field("latency").type
            some = ["PLAIN", "BYTE_STREAM_SPLIT"] if pa.types.is_floating(value) else \
                ["PLAIN", "DELTA_BINARY_PACKED"] if pa.types.is_integer(value) and value.bit_width >= 32 else ["PLAIN"]
            how["column_encoding"] = {"latency": pick(*some)}
        if not half and "time" in table.schema.names and pick(True, False, False):
            how["use_deprecated_int96_timestamps"] = True
        pq.write_table(table, name, compression=codec, use_dictionary=dictionary, row_group_size=max(group, len(table) // 50 + 1),
                       data_page_size=int(pick(100, 1000, 8000, 1 << 20)), data_page_version=pick("1.0", "2.0"),
                       write_statistics=pick(True, False), **how)
    elif writer == "polars":
        codec = pick("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4")
        pl.from_arrow(table).write_parquet(name, compression=codec, row_group_size=max(group, len(table) // 50 + 1),
                                           data_page_size=int(pick(1000, 1 << 20)))
    elif writer == "duckdb":
        codec = pick("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw")
        version = pick("V1", "V2")
        with duckdb.connect() as db:
            db.execute("SET TimeZone = 'UTC'")
            db.register("drawn", table)
            db.execute(f"COPY drawn TO '{name}' (FORMAT parquet, COMPRESSION {codec}, "
                       f"PARQUET_VERSION {version}, ROW_GROUP_SIZE {max(group, 2048)})")
    else:
        codec = pick(None, "snappy", "gzip", "zstd", "brotli", "lz4")
        table.to_pandas(types_mapper=pd.ArrowDtype).to_parquet(name, compression=codec)
    return writer, str(codec)

for i in range(number):
    value = values()
    form, time = times(len(value))
    columns = {"latency": value, "node": pa.array([f"n{k}" for k in rng.integers(0, 4, len(value))])}
    if time is not None:
        columns["time"] = time
    order = list(columns)
    rng.shuffle(order)
    name = f"{i:04}.parquet"
    writer, codec = write(f"{folder}/{name}", pa.table({k: columns[k] for k in order}))
    again = pq.read_table(f"{folder}/{name}")
    v = pd.to_numeric(again["latency"].combine_chunks().drop_null().to_pandas()).astype(float).to_numpy()
    out = {"file": name, "what": f"{writer} {codec} {value.type} {form}", "n": len(v), "lz4": "lz4" in codec.lower()}
    if len(v) > 0:
        out["mean"] = float(np.mean(v))
    if len(v) > 1:
        out["cov"] = float(np.std(v, ddof=1) / np.mean(v))
    if time is not None and len(v) > 0:
        kept = again["time"].combine_chunks().filter(again["latency"].combine_chunks().is_valid()).to_pandas()
        if form == "unix":
            kept = pd.to_datetime(kept, unit="ms", utc=True)
        kept = pd.to_datetime(kept, utc=True).astype("datetime64[ns, UTC]").astype("int64")
        out["first"], out["last"] = int(kept.min()), int(kept.max())
    print(json.dumps(out))
