# What a table of visits holds, for TestAnswer, by other means than the generator's:
#
#   SPARK_TEST_TABLE=/tmp/visits go test -run TestAnswer ./internal/workload/spark
#   python3 testdata/answer.py /tmp/visits-equal.csv [more parts of the table]
import csv
import sys
import zlib
from collections import defaultdict
from decimal import Decimal

sums = defaultdict(Decimal)
rows = 0
for file in sys.argv[1:]:
    for source, url, date, revenue in csv.reader(open(file)):
        sums[source] += Decimal(revenue)
        rows += 1
cents = {source: int(total * 100) for source, total in sums.items()}
checked = sum(zlib.crc32(source.encode()) * total for source, total in cents.items()) % 1_000_000_007
print("Rows:", rows, "Groups:", len(cents), "Cents:", sum(cents.values()), "Checked:", checked)
