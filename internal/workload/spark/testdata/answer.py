# What a table of visits holds, for TestAnswer, by other means than the generator's:
#
#   SPARK_TEST_TABLE=/tmp/visits go test -run TestAnswer ./internal/workload/spark
#   python3 testdata/answer.py /tmp/visits-equal.csv
import csv
import sys
import zlib
from collections import defaultdict
from decimal import Decimal

sums = defaultdict(Decimal)
rows = 0
for source, url, date, revenue in csv.reader(open(sys.argv[1])):
    sums[source] += Decimal(revenue)
    rows += 1
cents = {source: int(total * 100) for source, total in sums.items()}
checked = sum(zlib.crc32(f"{source}={total}".encode()) for source, total in cents.items())
print("Rows:", rows, "Groups:", len(cents), "Cents:", sum(cents.values()), "Checked:", checked)
