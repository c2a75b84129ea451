# Makes the Parquet files of the tests as users' programs do:
#   python parquet.py
# with pandas 3.1.1, polars 2.1.0 and pyarrow 26.0.1.
import datetime as dt, decimal
import numpy as np, pandas as pd, polars as pl, pyarrow as pa, pyarrow.parquet as pq

utc = dt.timezone.utc
times = [dt.datetime(2026, 1, 1, tzinfo=utc) + dt.timedelta(minutes=7 * i) for i in range(6)]
zones = ["a", "b", None, "a", "c", "b"]
values = [1.5, 2.0, None, 4.0, 5.25, -6.0]

# pandas: missing values and facts, an index, a category.
df = pd.DataFrame({"time": times, "zone": zones, "score (MB/s)": values, "cpu": pd.Categorical(["x", "y", "x", "x", "y", "y"]), "ok": [True, False] * 3})
df.index = [10, 20, 30, 40, 50, 60]
df.to_parquet("pandas.parquet")

# polars, packed with Zstandard, several groups of rows, other pages.
pl.DataFrame({"when": times, "zone": zones, "value": values}).write_parquet("polars.parquet", row_group_size=2, compression="zstd")

# pyarrow: what else there is.
pq.write_table(pa.table({
    "date": pa.array([dt.date(2026, 3, 28 + i) for i in range(3)]),
    "value": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-3.50")], pa.decimal128(9, 2)),
    "small": pa.array([1, 2, 1], pa.uint8()),
    "list": pa.array([[1], [2, 3], []]),
    "of_day": pa.array([1, 2, 3], pa.time32("ms")),
    "raw": pa.array([b"\xff\x00", b"ok", None]),
}), "types.parquet", store_decimal_as_integer=True)

# Local times as pandas has them without a zone, one that the clock left out.
naive = pd.to_datetime(["2026-03-29 01:30:00", "2026-03-29 02:30:00", "2026-03-29 03:30:00"])
pq.write_table(pa.table({"t": naive.values.astype("datetime64[us]"), "latency": np.array([3, 2, 1], np.float32)}), "local.parquet", version="2.6")

# Long, with texts as times, old time stamps and pages without dictionaries.
pq.write_table(pa.table({
    "metric": ["m", "n", "m", "m"], "unit": ["ms", "B/s", "s", "ms"], "value": pa.array([5, 7, 1, None], pa.int64()),
    "time": ["2026-01-01T00:00:02Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"],
}), "long.parquet", use_dictionary=False, data_page_version="2.0", compression="gzip")
pq.write_table(pa.table({"at": pa.array(times, pa.timestamp("ns", "UTC")), "value": pa.array(range(6), pa.int32())}), "int96.parquet", use_deprecated_int96_timestamps=True, compression="brotli")
pq.write_table(pa.table({"value": pa.array([1.0, float("inf"), float("nan")]), "ts": [1767225600, 1767225601, None]}), "infinite.parquet")
pq.write_table(pa.table({"value": pa.array([], pa.float64())}), "empty.parquet")
pq.write_table(pa.table({"value": ["1", "2"], "zone": ["a", "b"]}), "texts.parquet")
pq.write_table(pa.table({
    "value": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-3.50")], pa.decimal128(9, 2)),
    "price": pa.array([decimal.Decimal("12345678901234567890.5"), decimal.Decimal("-0.1"), None], pa.decimal256(40, 1)),
}), "decimals.parquet")

# What is refused or told by its name: codecs, encryption, no values at all, years that do not
# fit; and numbers of 16 bits.
rng = np.random.default_rng(3)
some = lambda mean, sd, n=200: rng.normal(mean, sd, n)
pq.write_table(pa.table({"latency": some(100, 30)}), "lz4raw.parquet", compression="lz4", use_dictionary=False)
old = bytearray(open("lz4raw.parquet", "rb").read())
at = old.rindex(bytes([0x15, 14, 0x16])) # the field codec of the thrift footer: LZ4_RAW is 7
old[at + 1] = 2 * 3                      # LZO, of which no program here makes files
open("lzo.parquet", "wb").write(old)
far = [dt.datetime(2026, 1, 1 + i) for i in range(11)] + [dt.datetime(9999, 12, 31)]
beside = {"latency": some(100, 2, 12), "note": pa.nulls(12)}
for name, how in {"far": {}, "far96": {"use_deprecated_int96_timestamps": True}}.items():
    pq.write_table(pa.table({"time": pa.array(far, pa.timestamp("us", "UTC"))} | beside), name + ".parquet", **how)
pq.write_table(pa.table(beside), "null.parquet")
pq.write_table(pa.table({"half": pa.array(np.array([1.5, -0.25, 65504, 6e-8, 2.0], np.float16))}), "half.parquet")

# Times that begin late: after a group of rows without any, or after none but nulls.
day = lambda i: f"2026-04-{1 + i // 24:02}T{i % 24:02}:00:00Z"
late = lambda of: [None] * 150 + [of(i) for i in range(150)]
latency = pa.array(some(100, 5, 300), pa.float32())
pq.write_table(pa.table({"ts": late(day), "latency": latency}), "late.parquet", row_group_size=100)
pq.write_table(pa.table({"epoch": pa.array(late(lambda i: 1775000000 + 3600 * i), pa.int64()), "latency": latency}), "lateunix.parquet")
schema = pa.schema([("ts", pa.string()), ("latency", pa.float32())])
with pq.ParquetWriter("emptygroup.parquet", schema) as out:
    out.write_table(schema.empty_table())
    out.write_table(pa.table({"ts": [day(i) for i in range(300)], "latency": latency}, schema=schema))

# Encrypted: all of it, or only a column.
import base64, pyarrow.parquet.encryption as pe
class Plain(pe.KmsClient):
    def __init__(self, *_): super().__init__()
    def wrap_key(self, key, _): return base64.b64encode(key)
    def unwrap_key(self, key, _): return base64.b64decode(key)
for name, plain in {"encrypted": False, "signed": True}.items():
    properties = pe.CryptoFactory(lambda c: Plain()).file_encryption_properties(
        pe.KmsConnectionConfig(), pe.EncryptionConfiguration("f", column_keys={"c": ["latency"]}, plaintext_footer=plain))
    t = pa.table({"latency": some(100, 2, 6), "zone": zones})
    with pq.ParquetWriter(name + ".parquet", t.schema, encryption_properties=properties) as out:
        out.write_table(t)
