"""Changes of level by Apache Otava and by its E-divisive. Reads a list of series as JSON and
prints, of each, the indices that both find; with `real SDIST` it prints the series that the
source archive carries, by name."""
import ast, csv, io, json, sys, tarfile

from otava.analysis import compute_change_points, compute_change_points_orig


def found(series):
    hunter, _ = compute_change_points(list(series))
    strict, _ = compute_change_points(list(series), max_pvalue=1e-6)
    divisive, _ = compute_change_points_orig(list(series), max_pvalue=0.05, seed=1)
    all = {"otava": hunter, "otava_strict": strict, "e_divisive": divisive}
    return {name: [int(c.index) for c in changes] for name, changes in all.items()}


def numbers(node):
    """The values of a list literal of 20 numbers or more."""
    try:
        values = ast.literal_eval(node)
    except ValueError:
        return None
    return values if len(values) >= 20 and all(isinstance(v, (int, float)) for v in values) else None


def real(sdist):
    out = {}
    with tarfile.open(sdist) as archive:
        for member in archive.getmembers():
            name = member.name.split("/", 1)[-1]
            if name.endswith(".py") and name.startswith("tests/"):
                for node in ast.walk(ast.parse(archive.extractfile(member).read())):
                    if isinstance(node, ast.List) and (values := numbers(node)):
                        out[f"{name}:{node.lineno}"] = values
            if name.endswith(".csv") and "semicolons" not in name:
                table = list(csv.DictReader(io.TextIOWrapper(archive.extractfile(member), "utf-8")))
                for column in table[0]:
                    try:
                        values = [float(row[column]) for row in table]
                    except (TypeError, ValueError):
                        continue
                    if len(values) >= 10 and len(set(values)) > 2 and column != "time":
                        out[f"{name}:{column}"] = values
    return out


if len(sys.argv) > 2:
    json.dump(real(sys.argv[2]), sys.stdout)
else:
    json.dump([found(s) for s in json.load(sys.stdin)], sys.stdout)
