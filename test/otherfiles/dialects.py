#!/usr/bin/env python3
"""Tables in dialects drawn at random, read by scalebench and by pandas.

Each table is written from values that are known, in a dialect that is drawn: separator,
quotation marks, encoding, decimal mark, thousands, comments, header, units, words for
what is missing, line ends, forms of times, wide, long or JSON. pandas reads it with the
dialect given as options; scalebench has to find the dialect out. n, mean and COV of
every metric are the same, with the first and last time, or scalebench refuses the table
and names the cause. Whatever else it says is "differ" and fails.

    dialects.py BINARY [--tables 2000] [--seed 1] [--keep DIR]

Exit status: 0 no table differs; 1 some do; each is printed with its dialect.
"""
import argparse
import collections
import csv
import datetime
import io
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import pandas

UTC = datetime.timezone.utc
METRICS = ["latency", "throughput", "errors"]
LONG = ["metric", "metric_name", "variable", "measure", "__name__", "_field", "counter", "benchmark", "test", "name"]
MISSING = ["", "NA", "NaN", "nan", "null", "n/a", "#N/A", "None", "-", "\\N"]

# How times are written: format, and whether a table of them can be clear.
TIMES = {
    "iso": lambda t: t.strftime("%Y-%m-%d %H:%M:%S"),
    "iso minutes": lambda t: t.strftime("%Y-%m-%d %H:%M"),
    "iso zone": lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "iso offset": lambda t: t.astimezone(datetime.timezone(datetime.timedelta(hours=2))).strftime("%Y-%m-%dT%H:%M:%S+02:00"),
    "iso fraction": lambda t: t.strftime("%Y-%m-%d %H:%M:%S.000"),
    "compact": lambda t: t.strftime("%Y%m%dT%H%M%SZ"),
    "seconds": lambda t: str(int(t.timestamp())),
    "millis": lambda t: str(int(t.timestamp()) * 1000),
    "nanos": lambda t: str(int(t.timestamp()) * 10**9),
    "dots": lambda t: t.strftime("%d.%m.%Y %H:%M:%S"),
    "year slashes": lambda t: t.strftime("%Y/%m/%d %H:%M:%S"),
    "day slashes": lambda t: t.strftime("%d/%m/%Y %H:%M:%S"),
    "month slashes": lambda t: t.strftime("%m/%d/%Y %H:%M:%S"),
    "twelve hours": lambda t: t.strftime("%m/%d/%Y %I:%M:%S %p"),
    "rfc1123": lambda t: t.strftime("%a, %d %b %Y %H:%M:%S GMT"),
    "apache": lambda t: t.strftime("%d/%b/%Y:%H:%M:%S +0000"),
    "c": lambda t: t.strftime("%a %b %e %H:%M:%S %Y"),
    "month name": lambda t: t.strftime("%b %-d, %Y %H:%M"),
    "hour only": lambda t: t.strftime("%H:%M:%S"),
}


class Table:
    """A dialect, the values behind it, and the text."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.seed = seed
        self.form = r.choices(["wide", "long", "lines", "list", "hyperfine"], [55, 30, 6, 5, 4])[0]
        self.sep = r.choice(",,,;;\t|")
        self.decimal = r.choice("....,,")
        self.thousands = r.choices(["", ",", ".", " ", "\u00a0", "'"], [70, 8, 8, 4, 4, 4])[0]
        if self.thousands == self.decimal:
            self.thousands = ""
        self.quoting = r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
        self.encoding = r.choices(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"], [70, 10, 8, 4, 6])[0]
        self.end = r.choices(["\n", "\r\n", "\r"], [70, 28, 2])[0]
        self.comment = r.choices(["", "before", "behind", "below", "cells"], [60, 12, 8, 6, 14])[0]
        self.sepline = r.random() < 0.08
        self.unit = r.choices(["", "header", "cells", "mixed", "percent"], [70, 8, 9, 7, 6])[0]
        self.missing = r.choice(MISSING) if r.random() < 0.35 else None
        self.bad = r.random() < 0.07
        self.time = r.choice([None, *TIMES])
        self.style = r.choices(["fixed", "exponent", "whole", "mixed"], [60, 12, 18, 10])[0]
        self.value = r.choice(["value", "latency", "Dauer", "p99 of it", "Response Time"])
        self.names = r.choice(LONG)
        self.extra = r.random() < 0.5
        self.n = r.choice([7, 12, 40, 299, 1500])
        if self.form in ("lines", "list", "hyperfine"):
            self.decimal, self.thousands, self.comment, self.sepline, self.unit = ".", "", "", False, ""
            self.end, self.missing, self.bad, self.sep = "\n", None, False, ","
            self.encoding = r.choice(["utf-8", "utf-8-sig", "utf-16"])
        if self.comment == "behind":
            self.quoting = csv.QUOTE_MINIMAL
        self.draw()

    def draw(self):
        r = self.r
        metrics = METRICS if self.form in ("long", "hyperfine") else [self.value]
        level = r.choice([0.004, 3, 250, 4200, 2.5e6])
        start = datetime.datetime(2026, r.randint(1, 12), r.randint(1, 28), r.randint(0, 23), r.randint(0, 59), tzinfo=UTC)
        step = r.choice([60, 1800, 86400])
        self.rows = []  # metric, value, text, time, text of the time, label
        bad = r.randrange(self.n) if self.bad else -1
        for i in range(self.n):
            at = start + datetime.timedelta(seconds=step * i)
            metric = metrics[i % len(metrics)]
            v, text = self.number(level * (1 + METRICS.index(metric) if metric in METRICS else 1) * r.lognormvariate(0, 0.3))
            if i == bad:
                v, text = None, r.choice(["ERR", "timeout", "12:30", "x1"])
            elif self.missing is not None and r.random() < 0.05 and i > 1:
                v, text = None, self.missing
            label = r.choice(["#2 checkout", "home"]) if self.comment == "cells" else r.choice(["größe", "zone-a", "b, c; d"])
            self.rows.append((metric, v, text, at, TIMES[self.time](at) if self.time else "", label))

    def number(self, v):
        """A value as it is written, and the value that the text has."""
        r = self.r
        style = r.choice(["fixed", "exponent"]) if self.style == "mixed" else self.style
        text = {"fixed": f"{v:.{6 if v < 1 else 2}f}", "exponent": f"{v:.4E}", "whole": str(max(1, round(v)))}[style]
        v = float(text)
        unit = ""
        if self.unit == "cells":
            unit = " ms"
        elif self.unit == "percent":
            unit = r.choice(["%", " %"])
        elif self.unit == "mixed":
            unit = r.choice([" ms", " s"])
            v = v * 1000 if unit == " s" else v
        whole, point, fraction = text.partition(".")
        if self.thousands and "E" not in text:
            whole = f"{int(whole):,}".replace(",", self.thousands)
        return v, whole + (self.decimal if point else "") + fraction + unit

    def header(self):
        value = self.value + (" (ms)" if self.unit == "header" else "")
        first = ["label"] if self.comment == "cells" or self.extra else []
        return first + (["time"] if self.time else []) + ([self.names] if self.form == "long" else []) + [value]

    def cells(self, row):
        metric, _, text, _, at, label = row
        first = [label] if self.comment == "cells" or self.extra else []
        return first + ([at] if self.time else []) + ([metric] if self.form == "long" else []) + [text]

    def text(self):
        if self.form == "hyperfine":
            results = []
            for m in METRICS:
                times = [v for metric, v, *_ in self.rows if metric == m]
                results.append({"command": m, "mean": 1.0, "times": times, "exit_codes": [0] * len(times), "parameters": {"n": "3"}})
            return json.dumps({"results": results}, indent=2)
        if self.form in ("lines", "list"):
            rows = []
            for row in self.rows:
                o = dict(zip(self.header(), self.cells(row)))
                o[self.header()[-1]] = row[1]
                rows.append(o)
            if self.form == "list":
                return json.dumps(rows, ensure_ascii=False)
            return "\n".join(json.dumps(o, ensure_ascii=False) for o in rows) + "\n"
        out = io.StringIO()
        w = csv.writer(out, delimiter=self.sep, quoting=self.quoting, lineterminator=self.end)
        if self.sepline:
            out.write("sep=" + self.sep + self.end)
        if self.comment == "before":
            out.write(f"# made by hand, \"1;2{self.end}{self.end}#{self.end}")
        if self.comment == "behind":
            out.write(self.r.choice(["#", "# "]))
        w.writerow(self.header())
        for i, row in enumerate(self.rows):
            if self.comment == "below" and i == self.n // 2:
                out.write("# warm from here on" + self.end)
            w.writerow(self.cells(row))
        text = out.getvalue()
        return text if self.r.random() < 0.8 else text.rstrip("\r\n")

    def write(self, path):
        text = self.text()
        encoding = {"utf-16-be": "utf-16-be"}.get(self.encoding, self.encoding)
        data = text.encode(encoding, "replace")
        path.write_bytes((b"\xfe\xff" if self.encoding == "utf-16-be" else b"") + data)

    def pandas(self, path):
        """What pandas has with the dialect as its options: the values of each metric."""
        if self.form not in ("wide", "long"):
            frame = pandas.DataFrame([(m, v) for m, v, *_ in self.rows], columns=["m", "v"])
            return {m if self.form == "hyperfine" else self.value: g["v"] for m, g in frame.groupby("m")}
        lines = (1 if self.sepline else 0) + (3 if self.comment == "before" else 0)
        below = ["# warm from here on"] if self.comment == "below" else []
        frame = pandas.read_csv(path, sep=self.sep, encoding="utf-16" if self.encoding == "utf-16-be" else self.encoding, dtype=str,
                                keep_default_na=False, skiprows=lines, skip_blank_lines=True, names=self.header(), header=0)
        frame = frame[~frame.iloc[:, 0].isin(below)]
        value = frame.columns[-1]
        text = frame[value].where(~frame[value].isin(MISSING))
        scale = 1.0
        if self.unit in ("cells", "mixed", "percent"):
            unit = text.str.extract(r" ?(ms|s|%)$")[0]
            first = unit.dropna().iloc[0]
            scale = unit.map({"ms": 1, "s": 1000, "%": 1}) / (1000 if first == "s" else 1)
            text = text.str.replace(r" ?(ms|s|%)$", "", regex=True)
        if self.thousands:
            text = text.str.replace(self.thousands, "", regex=False)
        frame["v"] = pandas.to_numeric(text.str.replace(self.decimal, ".", regex=False), errors="coerce") * scale
        if self.form == "wide":
            return {self.value: frame["v"].dropna()}
        return {m: g["v"].dropna() for m, g in frame.groupby(self.names)}

    def causes(self):
        """Words of which a refusal has one that names the cause."""
        out = []
        if self.encoding == "cp1252":
            out.append("UTF-8")
        if self.end == "\r":
            out.append("carriage return")
        if self.bad:
            out += ["ERR", "timeout", "12:30", "x1"]
        if self.decimal == "," or self.thousands:
            out.append("which mark")
        if self.comment == "behind" and self.decimal == "," and len(self.header()) == 1:
            out.append("names of columns are expected")
        if self.missing == "-" and self.unit == "":
            out.append("which mark")
        return out

    def told(self):
        """Words of a remark without which an unread time counts as untold."""
        return ["not read as times", "day or the month is first", "not clear which"]

    def __str__(self):
        keys = "seed form sep decimal thousands quoting encoding end comment sepline unit missing bad time style value names extra n".split()
        return " ".join(f"{k}={getattr(self, k)!r}" for k in keys)


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-300)


def judge(table, path, binary):
    """equal, refused, told or differ, and why."""
    done = subprocess.run([binary, "variability", path.name, "--format", "json"], cwd=path.parent, capture_output=True, text=True, timeout=120)
    if done.returncode == 2:
        named = [c for c in table.causes() if c in done.stderr]
        return ("refused", named[0]) if named else ("differ", "refused without the cause: " + done.stderr.strip()[:300])
    if done.returncode != 0:
        return "differ", f"exit {done.returncode}: {done.stderr.strip()[:300]}"
    out = json.loads(done.stdout)
    got = {}
    for m in out["metrics"]:
        got[m["workload"] if m.get("workload") and table.form in ("long", "hyperfine") else m["metric"]] = m
    want = {m: v for m, v in table.pandas(path).items() if len(v) > 0}
    if set(got) != set(want):
        return "differ", f"metrics {sorted(got)}, pandas {sorted(want)}"
    for name, values in want.items():
        m = got[name]
        if m["n"] != len(values):
            return "differ", f"{name}: n {m['n']}, pandas {len(values)}"
        if close(1000 * m["mean"], values.mean()) and any("taken as decimal marks" in t for t in out.get("told", []) + out.get("warnings", [])):
            return "told", "4.100 may be 4100 or 4.1, and nothing else shows it"
        if not close(m["mean"], values.mean()):
            return "differ", f"{name}: mean {m['mean']}, pandas {values.mean()}"
        cov = values.std(ddof=1) / values.mean() if len(values) > 1 else None
        if cov is not None and (m["cov"] is None or abs(m["cov"] - cov) > 1e-9):
            return "differ", f"{name}: COV {m['cov']}, pandas {cov}"
        if why := times(table, name, m, out):
            return "differ", f"{name}: {why}"
    return "equal", ""


def times(table, name, m, out):
    """Why the first and last time are not those of the table; empty: they are."""
    if not table.time or table.form == "hyperfine":
        return ""
    of = [row[3] for row in table.rows if row[1] is not None and (table.form != "long" or row[0] == name)]
    if not m.get("from"):
        texts = out.get("told", []) + out.get("warnings", [])
        return "" if any(w in t for w in table.told() for t in texts) else "no times, untold"
    if table.time == "iso minutes" or table.time == "month name":
        of = [t.replace(second=0) for t in of]
    for key, want in (("from", min(of)), ("to", max(of))):
        have = datetime.datetime.fromisoformat(m[key].replace("Z", "+00:00"))
        if have != want:
            return f"{key} {m[key]}, written {want}"
    return ""


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("binary")
    flags.add_argument("--tables", type=int, default=2000)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--keep")
    flags = flags.parse_args()
    count, kinds = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(flags.keep or made)
        folder.mkdir(exist_ok=True)
        for i in range(flags.tables):
            table = Table(flags.seed * 1_000_000 + i)
            path = folder / f"t{i}.{'json' if table.form in ('lines', 'list', 'hyperfine') else 'csv'}"
            table.write(path)
            verdict, why = judge(table, path, flags.binary)
            count[verdict] += 1
            if verdict == "differ":
                print(f"{path.name}: {why}\n    {table}", flush=True)
            elif verdict == "refused":
                kinds[why] += 1
            if not flags.keep:
                path.unlink()
    print(f"{flags.tables} tables: {count['equal']} equal to pandas, {count['refused']} refused with the cause "
          f"({', '.join(f'{k}: {n}' for k, n in sorted(kinds.items()))}), "
          f"{count['told']} differ and say so, {count['differ']} differ")
    sys.exit(1 if count["differ"] else 0)


if __name__ == "__main__":
    main()
