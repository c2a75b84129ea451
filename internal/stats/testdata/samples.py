#!/usr/bin/env python3
"""Reference values for two samples, pairs and many comparisons, by SciPy,
statsmodels and R (wilcox.test).

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install scipy==1.17.1 numpy==2.4.6 statsmodels==0.14.6
    /tmp/reference/bin/python internal/stats/testdata/samples.py > internal/stats/testdata/samples.json

Inputs and outputs are stored, so that the tests need neither.
"""
import json
import subprocess
import numpy as np
from scipy import optimize, special, stats
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(588540)
out = {}


def listed(x):
    return [float(v) for v in x]


def r(code):
    """Numbers that R prints, one a line."""
    text = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True).stdout
    return [float(v) for v in text.split()]


def vector(x):
    return "c(" + ",".join(repr(float(v)) for v in x) + ")"


def welch(x, y):
    t = stats.ttest_ind(x, y, equal_var=False)
    ci = t.confidence_interval(.95)
    return {"x": listed(x), "y": listed(y), "t": float(t.statistic), "degrees": float(t.df),
            "p": float(t.pvalue), "ci": [float(ci.low), float(ci.high)]}


# Section 6.4 of the variance paper tells means of 588 and 540 and p = 1.1853e-11, but
# neither counts nor deviations: two samples that have these means and this p.
shape_x, shape_y = stats.norm.ppf((np.arange(60) + .5) / 60), stats.norm.ppf((np.arange(40) + .5) / 40)
def paper(sd):
    return 588 + sd * shape_x, 540 + sd * shape_y
sd = optimize.brentq(lambda s: np.log(stats.ttest_ind(*paper(s), equal_var=False).pvalue / 1.1853e-11), 5, 100, xtol=1e-13)
out["paper"] = welch(*paper(sd))
out["welch"] = [
    welch(rng.normal(0, 1, 8), rng.normal(1, 4, 15)),
    welch(rng.normal(100, 1, 30), rng.normal(60, 1, 30)),  # p below 1e-50
    welch([1, 2], [5, 9]),
    welch(rng.normal(10, 1, 300), rng.normal(9, 1, 400)),
]


def u(x, y):
    t = stats.mannwhitneyu(x, y, alternative="two-sided", method="auto")
    return {"x": listed(x), "y": listed(y), "u": float(t.statistic), "p": float(t.pvalue)}


out["mann_whitney_auto"] = [
    u([1, 2, 3], [4, 5, 6, 7]), u(rng.normal(0, 1, 8), rng.normal(1, 1, 8)),
    u(rng.normal(0, 1, 3), rng.normal(0, 1, 300)), u([.5], rng.normal(0, 1, 12)),
    u(rng.normal(0, 1, 9), rng.normal(1, 1, 9)), u([1, 2, 2], [2, 3, 4]),
]


def brunner_munzel(x, y):
    t = stats.brunnermunzel(x, y)
    u1 = stats.mannwhitneyu(x, y).statistic
    a12 = u1 / (len(x) * len(y))
    return {"x": listed(x), "y": listed(y), "a12": float(a12), "se": float(abs((.5 - a12) / t.statistic)),
            "p": float(t.pvalue)}


out["brunner_munzel"] = [
    brunner_munzel(rng.normal(0, 1, 12), rng.normal(1, 3, 9)),
    brunner_munzel(rng.integers(0, 9, 40), rng.integers(2, 11, 30)),
]


def shift(x, y, level=.95):
    v = r(f"w <- wilcox.test({vector(x)}, {vector(y)}, conf.int=TRUE, conf.level={level}, exact=TRUE);"
          "cat(sprintf('%.17g', c(w$estimate, w$conf.int)), sep='\\n')")
    return {"x": listed(x), "y": listed(y), "level": level, "shift": v[0], "ci": v[1:]}


out["shift"] = [
    shift(rng.normal(5, 1, 10), rng.normal(4, 1, 12)), shift(rng.normal(5, 1, 4), rng.normal(4, 1, 4)),
    shift(rng.lognormal(0, 1, 49), rng.lognormal(.5, 1, 31)), shift(rng.normal(0, 1, 7), rng.normal(0, 1, 20), .9),
]


def independent_ratio(x, y):
    """The ratios at which Welch's t of mean(x) - R*mean(y), with the degrees of freedom at the estimate, is at its limit."""
    vx, vy, n, m = x.var(ddof=1) / len(x), y.var(ddof=1) / len(y), len(x), len(y)
    r0 = x.mean() / y.mean()
    df = (vx + r0**2 * vy)**2 / (vx**2 / (n - 1) + (r0**2 * vy)**2 / (m - 1))
    t = special.stdtrit(df, .975)
    f = lambda r: (x.mean() - r * y.mean())**2 - t**2 * (vx + r * r * vy)
    return {"x": listed(x), "y": listed(y), "ratio": float(r0),
            "ci": [float(optimize.brentq(f, a, b, xtol=1e-14)) for a, b in ((0, r0), (r0, 20 * r0))]}


out["independent_ratio"] = [independent_ratio(rng.normal(100, 10, 12), rng.normal(80, 3, 20)),
                            independent_ratio(rng.normal(1e9, 1e8, 5), rng.normal(2e-3, 1e-4, 7))]


def signed_rank(x, y, method):
    t = stats.wilcoxon(x, y, correction=True, method=method)
    return {"x": listed(x), "y": listed(y), "w": float(t.statistic), "p": float(t.pvalue)}


base = rng.normal(50, 5, 60)
out["signed_rank"] = [
    signed_rank(base[:10], base[:10] + rng.normal(.5, 1, 10), "exact"),
    signed_rank(base[:50], base[:50] + rng.normal(.3, 1, 50), "exact"),
    signed_rank(base, base + rng.normal(.3, 1, 60), "asymptotic"),
    signed_rank(rng.integers(0, 6, 40), rng.integers(0, 7, 40), "asymptotic"),  # ties and zeros
]


def pseudomedian(d, level=.95):
    v = r(f"w <- wilcox.test({vector(d)}, conf.int=TRUE, conf.level={level}, exact=TRUE);"
          "cat(sprintf('%.17g', c(w$estimate, w$conf.int)), sep='\\n')")
    return {"d": listed(d), "level": level, "shift": v[0], "ci": v[1:]}


out["pseudomedian"] = [pseudomedian(rng.normal(1, 2, 12)), pseudomedian(rng.normal(1, 2, 6)),
                       pseudomedian(rng.lognormal(0, 1, 49)), pseudomedian(rng.normal(0, 1, 9), .9)]


def paired_t(x, y):
    t = stats.ttest_rel(x, y)
    ci = t.confidence_interval(.95)
    return {"x": listed(x), "y": listed(y), "t": float(t.statistic), "p": float(t.pvalue), "ci": [float(ci.low), float(ci.high)]}


out["paired_t"] = [paired_t(base[:9], base[:9] * 1.02 + rng.normal(0, .3, 9)), paired_t(base, base + rng.normal(3, .1, 60))]

many = [listed(rng.random(9)), [.01, .01, .03, .04, .8, 1e-12], [.04], [.9, .95, 1, .99], listed(rng.random(40)**3)]
out["multiple"] = [{"p": p, "bh": listed(multipletests(p, method="fdr_bh")[1]),
                    "holm": listed(multipletests(p, method="holm")[1])} for p in many]


print(json.dumps(out, indent=1))
