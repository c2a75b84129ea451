# The job: the sum of adRevenue by sourceIP over the table of visits. It waits until
# so many executors are there, as long as that may take: the task's timeout ends it.
# (Spark itself begins without them: it waits for a number of cores only, and that
# is not known where nodes have different ones.) It prints a line then, and one with
# what came out: how many groups there are, the sum of all in cents, and the sum of the
# CRC-32 of "sourceIP=cents" over the groups, so that no group can be wrong unseen.
import json
import sys
import time

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
status = spark.sparkContext._jsc.sc().statusTracker()
while (executors := len(status.getExecutorInfos()) - 1) < int(sys.argv[2]):  # one is the driver
    time.sleep(0.02)
print(json.dumps({"executors": executors}), flush=True)

visits = spark.read.csv(
    sys.argv[1],
    schema="sourceIP STRING, visitedURL STRING, visitDate DATE, adRevenue DECIMAL(12,2)",
)
visits.createOrReplaceTempView("visits")
row = spark.sql("""
    SELECT count(*) AS groups, sum(cents) AS cents, sum(crc32(concat(sourceIP, '=', cents))) AS checked
    FROM (SELECT sourceIP, CAST(sum(adRevenue) * 100 AS BIGINT) AS cents FROM visits GROUP BY sourceIP)
""").collect()[0]
print(json.dumps({"answer": {k: int(row[k] or 0) for k in ("groups", "cents", "checked")}}), flush=True)
spark.stop()
