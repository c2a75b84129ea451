#!/usr/bin/env python3
"""Reference values for package stats, computed by SciPy and NumPy.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install scipy==1.17.1 numpy==2.4.6
    /tmp/reference/bin/python internal/stats/testdata/reference.py > internal/stats/testdata/reference.json

Inputs and outputs are stored, so that the tests need neither.
"""
import json
import numpy as np
import scipy
from scipy import optimize, special, stats

rng = np.random.default_rng(20200215)
out = {"scipy": scipy.__version__, "numpy": np.__version__}

out["t"] = [[p, nu, float(stats.t.ppf(p, nu))]
            for nu in (1, 2, 3, 5, 9, 19, 30, 99, 999, 2.5)
            for p in (.005, .025, .1, .5, .9, .975, .995)]
out["f"] = [[p, d1, d2, float(stats.f.ppf(p, d1, d2))]
            for d1 in (1, 2, 4, 9) for d2 in (1, 3, 19, 99) for p in (.5, .95, .99)]
out["normal_cdf"] = [[z, float(stats.norm.cdf(z))] for z in (-30, -9, -3, -1.96, 0, .5, 1.96, 6)]
out["normal_quantile"] = [[p, float(stats.norm.ppf(p))]
                          for p in (1e-300, 1e-12, .001, .025, .3, .5, .975, .999999)]


def describe(x):
    x = np.array(x, float)
    return {"x": x.tolist(), "mean": float(np.mean(x)),
            "population_sd": float(np.std(x)), "sample_sd": float(np.std(x, ddof=1)),
            "min": float(x.min()), "max": float(x.max()),
            "p": [0, .025, .25, .5, .9, 1],
            "quantiles": [float(np.quantile(x, p)) for p in (0, .025, .25, .5, .9, 1)]}


out["describe"] = [describe([1, 2, 3, 4]), describe([5, -1]),
                   describe(1e9 + rng.normal(0, 1, 15)), describe(rng.lognormal(0, 1, 40))]


def fieller(num, den, level=.95):
    """The ratios R at which a t test of mean(num - R*den) = 0 is at its limit."""
    n, t = len(num), stats.t.ppf((1 + level) / 2, len(num) - 1)

    def excess(r):
        d = num - r * den
        return abs(d.mean()) - t * d.std(ddof=1) / np.sqrt(n)
    r0 = num.mean() / den.mean()
    step = 1e-6 * max(1, abs(r0))
    bounds = []
    for sign in (-1, 1):
        far = step
        while excess(r0 + sign * far) < 0:
            far *= 2
            if far > 1e6:
                return None
        bounds.append(optimize.brentq(excess, r0, r0 + sign * far, xtol=1e-14, rtol=1e-14))
    return bounds


def bca(num, den):
    def ratio(a, b, axis):
        return a.mean(axis=axis) / b.mean(axis=axis)
    r = stats.bootstrap((num, den), ratio, paired=True, vectorized=True, method="BCa",
                        n_resamples=500, rng=np.random.default_rng(1))
    many = stats.bootstrap((num, den), ratio, paired=True, vectorized=True, method="BCa",
                           n_resamples=100_000, rng=np.random.default_rng(2))
    return {"distribution": r.bootstrap_distribution.tolist(),
            "interval": [float(v) for v in r.confidence_interval],
            "interval_many": [float(v) for v in many.confidence_interval]}


def case(name, num, den):
    num, den = np.array(num, float), np.array(den, float)
    return {"name": name, "num": num.tolist(), "den": den.tolist(),
            "cov": float(np.cov(num, den)[0, 1]), "ratio": float(num.mean() / den.mean()),
            "fieller": fieller(num, den), "bca": bca(num, den)}


node = rng.normal(1, .1, 20)
out["pairs"] = [
    case("twenty nodes", 80 * node * rng.normal(1, .03, 20), 100 * node * rng.normal(1, .03, 20)),
    # Integers: a resample that is the sample in another order then has exactly its ratio.
    case("six uncorrelated", rng.normal(50, 5, 6).round(), rng.normal(200, 10, 6).round()),
    case("skewed", rng.lognormal(3, .6, 12), rng.lognormal(4, .5, 12)),
    case("half of the nodes halved", np.where(np.arange(10) % 2, 1, .5) * rng.normal(1e9, 2e7, 10),
         rng.normal(1e9, 2e7, 10)),
]
out["unbounded"] = {"num": [1, 2, 3], "den": [-1, 0.5, 1.5]}
assert fieller(np.array([1., 2, 3]), np.array([-1, .5, 1.5])) is None


def mann_whitney(x, y):
    r = stats.mannwhitneyu(x, y, alternative="two-sided", method="asymptotic")
    return {"x": np.array(x, float).tolist(), "y": np.array(y, float).tolist(), "u": float(r.statistic), "p": float(r.pvalue)}


out["mann_whitney"] = [
    mann_whitney(rng.normal(0, 1, 20), rng.normal(1, 1, 30)),
    mann_whitney(rng.integers(0, 6, 40), rng.integers(1, 7, 25)),  # many ties
    mann_whitney([1, 1, 1], [1, 1, 1, 2]),
    mann_whitney(np.arange(200), np.arange(200) + 1000),  # a p far below the smallest step of 1
]
print(json.dumps(out, indent=1))
