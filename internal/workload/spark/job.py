# The job: the sum of adRevenue by sourceIP over the table of visits. It waits until
# so many executors are there, as long as that may take: the task's timeout ends it.
# (Spark itself begins without them: it waits for a number of cores only, and that
# is not known where nodes have different ones.) It prints a line then, and one with
# what came out: how many groups there are, the sum of all in cents, and the sum over the
# groups of their cents times the CRC-32 of sourceIP, modulo a prime, so that no group can
# be wrong unseen. (That sum is also what the sums of parts of the table make.)
import json
import sys
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
status = spark.sparkContext._jsc.sc().statusTracker()
while (executors := len(status.getExecutorInfos()) - 1) < int(sys.argv[2]):  # one is the driver
    time.sleep(0.02)
print(json.dumps({"executors": executors}), flush=True)

# What a task runs to read its piece of its node's part. Elsewhere it fails, also where
# nodes share their folder: it would measure another disk.
READ = """
import os, sys
for piece in sys.stdin:
    host, begin, end, file = piece.rstrip("\\n").split(" ", 3)
    if os.environ["SPARK_LOCAL_IP"] != host:
        sys.exit("the part of " + host + " was to be read on " + os.environ["SPARK_LOCAL_IP"])
    with open(file, "rb") as f:
        f.seek(int(begin))
        left = int(end) - int(begin)
        while left > 0:
            some = f.read(min(left, 1 << 20))
            if not some:
                sys.exit(file + " is shorter than it was")
            sys.stdout.buffer.write(some)
            left -= len(some)
"""


def divided(parts, reader):
    """The table whose parts are each on one node: Spark itself reads files only that all have."""
    jvm = spark.sparkContext._jvm
    seq = jvm.org.apache.spark.api.python.PythonUtils.toSeq
    pieces = [
        jvm.scala.Tuple2(f"{p['host']} {begin} {end} {p['file']}", seq([p["host"]]))
        for p in parts
        for begin, end in zip(p["cuts"], p["cuts"][1:])
    ]
    tags = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$")
    string = tags.apply(jvm.java.lang.Class.forName("java.lang.String"))
    rows = spark.sparkContext._jsc.sc().makeRDD(seq(pieces), string).toJavaRDD().pipe(["python3", "-c", READ])
    lines = spark._jsparkSession.createDataset(rows.rdd(), jvm.org.apache.spark.sql.Encoders.STRING())
    return reader._df(reader._jreader.csv(lines))


reader = spark.read.schema("sourceIP STRING, visitedURL STRING, visitDate DATE, adRevenue DECIMAL(12,2)")
if sys.argv[1].endswith(".json"):
    with open(sys.argv[1]) as f:
        visits = divided(json.load(f), reader)
else:
    visits = reader.csv(sys.argv[1])
visits.createOrReplaceTempView("visits")
row = spark.sql("""
    SELECT count(*) AS groups, sum(cents) AS cents,
        sum((cents % 1000000007) * (crc32(sourceIP) % 1000000007) % 1000000007) % 1000000007 AS checked
    FROM (SELECT sourceIP, CAST(sum(adRevenue) * 100 AS BIGINT) AS cents FROM visits GROUP BY sourceIP)
""").collect()[0]
print(json.dumps({"answer": {k: int(row[k] or 0) for k in ("groups", "cents", "checked")}}), flush=True)
spark.stop()
