#!/usr/bin/env python3
"""Reference values for the variation of measurements: spread, decomposition,
effects, autocorrelation, drift, change points. By SciPy, NumPy, statsmodels, arch,
ruptures and pymannkendall.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install scipy==1.17.1 numpy==2.4.6 statsmodels==0.15.0 arch==8.0.0 ruptures==1.1.10 pymannkendall==1.4.3
    /tmp/reference/bin/python internal/stats/testdata/variation.py > internal/stats/testdata/variation.json

Inputs and outputs are stored, so that the tests need neither.
"""
import itertools
import json
import numpy as np
import pymannkendall as mk
import ruptures
import scipy
import statsmodels
from arch.bootstrap import optimal_block_length
from scipy import optimize, signal, special, stats
from statsmodels.stats.oneway import anova_oneway
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.stattools import medcouple
from statsmodels.tsa.stattools import acf

rng = np.random.default_rng(20100913)
out = {"scipy": scipy.__version__, "numpy": np.__version__, "statsmodels": statsmodels.__version__}


def f(x):
    return [float(v) for v in np.ravel(x)]


out["tails"] = {
    "t": [[t, nu, float(2 * stats.t.sf(t, nu))] for t in (.5, 3, 40) for nu in (1, 5, 1e3, 1e7)],
    "f": [[x, a, b, float(stats.f.sf(x, a, b))] for x, a, b in
          ((.5, 1, 4), (3, 2, 30), (60, 5, 1e7), (1.002, 8760, 1e7), (1.2, 8760, 1e7), (1.5, 23, 1e6))],
    "chi2": [[x, nu, float(stats.chi2.sf(x, nu))] for x, nu in ((.1, 1), (3.84, 1), (300, 5), (9000, 8760))],
    "ncf": [[x, a, b, l, float(stats.ncf.cdf(x, a, b, l))] for x, a, b, l in
            ((3, 2, 50, 5), (2, 1, 1e6, .5), (10, 1, 8, 4), (60, 6, 1000, 300), (170, 6, 1e6, 990), (400, 6, 3000, 2200))],
}

samples = [rng.normal(100, 10, 25), rng.lognormal(3, .6, 40), np.where(rng.random(60) < .3, 50, 100) * rng.normal(1, .02, 60),
           np.array([1, 2, 2, 2, 2, 3, 9.]), np.array([5, 5, 5, 6, 7, 8, 30, 31.]), -rng.lognormal(0, 1, 33) + 50]


def bonett(x, level):
    """Bonett (2006), equation 5, with the variance of the mean added."""
    n, z = len(x), stats.norm.ppf((1 + level) / 2)
    cov, d = stats.variation(x, ddof=1), x - x.mean()
    m = stats.trim_mean(x, 1 / (2 * np.sqrt(n - 4)))
    kurtosis = n * ((x - m)**4).sum() / (d**2).sum()**2
    v = (kurtosis - (n - 3) / n) / (n - 1) / 4 + (cov**2 - stats.skew(x) * cov) / n
    c = n / (n - z)
    return f([cov * np.sqrt(c) * np.exp(s * z * c * np.sqrt(max(v, 0))) for s in (-1, 1)])


out["spread"] = [{"x": f(x), "mean": float(x.mean()), "median": float(np.median(x)), "sd": float(x.std(ddof=1)),
                  "cov": float(stats.variation(x, ddof=1)), "interval": bonett(x, .95), "medcouple": float(medcouple(x, use_fast=False))} for x in samples]
out["binomial"] = [[n, p, int(stats.binom.ppf((1 - p) / 2, n, .5))] for n in (6, 9, 37, 1000, 99_999, 10_000_000) for p in (.9, .95, .99)
                   if stats.binom.cdf(0, n, .5) <= (1 - p) / 2]



# The mean of the k-th of s values over all subsets, of which each is made.
x = np.sort(rng.lognormal(2, .5, 14))
out["ordered"] = {"x": f(x), "cases": [[s, k, float(np.mean([c[k - 1] for c in itertools.combinations(x, s)]))]
                                       for s, k in ((6, 1), (6, 6), (9, 2), (13, 4), (14, 5))]}


def effect(values, codes):
    known = codes > 0
    v, c = values[known], codes[known]
    groups = [v[c == i] for i in np.unique(c)]
    r = stats.f_oneway(*groups)
    k, n = len(groups), len(v)
    ssb = sum(len(g) * (g.mean() - v.mean())**2 for g in groups)
    ssw = sum(((g - g.mean())**2).sum() for g in groups)
    msw = ssw / (n - k)
    bounds = []
    for p in (.975, .025):
        def off(share):
            return np.nan_to_num(stats.ncf.cdf(r.statistic, k - 1, n - k, n * share / (1 - share))) - p  # NaN far out
        bounds.append(optimize.brentq(off, 1e-12, 1 - 1e-6, xtol=1e-14) if off(1e-12) > 0 else 0)
    welch = anova_oneway(groups, use_var="unequal").pvalue
    return {"values": f(values), "codes": codes.tolist(), "f": float(r.statistic), "p": float(r.pvalue), "welch": float(welch),
            "eta2": ssb / (ssb + ssw), "omega2": max(0, (ssb - (k - 1) * msw) / (ssb + ssw + msw)), "interval": f(bounds)}


codes = rng.integers(0, 4, 60)
out["effects"] = [effect(rng.normal(10, 1, 60) + codes, codes), effect(rng.normal(10, 1, 60), codes),
                  effect(np.where(codes == 1, 50, 100) * rng.normal(1, .01, 60), codes)]


def cramer(a, b):
    t = stats.contingency.crosstab(a, b).count
    chi2, p, _, _ = stats.chi2_contingency(t, correction=False)
    n, (r, c) = t.sum(), t.shape
    phi2 = max(0, chi2 / n - (r - 1) * (c - 1) / (n - 1))
    return {"a": a.tolist(), "b": b.tolist(), "p": float(p),
            "v": float(np.sqrt(phi2 / (min(r - (r - 1)**2 / (n - 1), c - (c - 1)**2 / (n - 1)) - 1)))}


a = rng.integers(1, 4, 120)
out["cramer"] = [cramer(a, rng.integers(1, 3, 120)), cramer(a, np.where(rng.random(120) < .7, a, 5)), cramer(a, a)]
out["wilson"] = [[k, n, level, *f(proportion_confint(k, n, 1 - level, "wilson"))] for k, n, level in
                 ((0, 10, .95), (3, 10, .95), (10, 10, .95), (220, 1000, .99))]


def pairs(x, y):
    r, s = stats.pearsonr(x, y), stats.spearmanr(x, y)
    ci = r.confidence_interval(.95)
    return {"x": f(x), "y": f(y), "r": float(r.statistic), "p": float(r.pvalue), "interval": [float(ci.low), float(ci.high)],
            "rho": float(s.statistic), "rhop": float(s.pvalue)}


x = rng.normal(0, 1, 40)
out["pairs"] = [pairs(x, x + rng.normal(0, 1, 40)), pairs(rng.integers(0, 5, 30).astype(float), rng.integers(0, 5, 30).astype(float)),
                pairs(np.arange(200.), np.arange(200.)**3 + rng.normal(0, 1, 200))]


def series(x):
    n = len(x)
    return {"x": f(x), "acf": f(acf(x, nlags=20, fft=False)), "block": float(optimal_block_length(x)["circular"].iloc[0])}


def ar(phi, n):
    """An AR(1) process; the first hundred values are left out."""
    return signal.lfilter([1], [1, -phi], rng.normal(0, 1, n + 100))[100:]


out["series"] = [series(np.round(x, 6)) for x in
                 (rng.normal(0, 1, 100), 50 + ar(.5, 300), 50 + ar(.9, 400), ar(-.4, 120), np.sin(np.arange(200) / 8) + rng.normal(0, .3, 200))]
# Long enough for the Fourier transform: made again by the test, x_i = sin(i²/1000) + i mod 7.
i = np.arange(9000.)
out["long"] = f(acf(np.sin(i * i / 1000) + i % 7, nlags=100, fft=True))


def drift(t, x):
    """Regular times for pymannkendall; Sen's slope and its interval for independent values by SciPy."""
    r = mk.hamed_rao_modification_test(x)
    o = mk.original_test(x)
    s = stats.theilslopes(x, t, .95)
    return {"t": f(t), "x": f(x), "p": float(r.p), "independent": float(o.p), "ratio": float(r.var_s / o.var_s),
            "slope": float(s.slope), "interval": [float(s.low_slope), float(s.high_slope)]}


t = np.arange(80.)
out["drift"] = [drift(t, np.round(v, 4)) for v in (100 + .03 * t + rng.normal(0, 1, 80), 100 + ar(.6, 80), 100 - .05 * t + ar(.4, 80),
                                                   np.round(rng.normal(0, 2, 80)))]


class Empirical(ruptures.base.BaseCost):
    """Haynes et al. (2017), equation 5, with values equal to a point counted half."""
    model, min_size = "", 5

    def fit(self, signal):
        self.signal, x = signal, signal.ravel()
        n = len(x)
        k = int(np.ceil(4 * np.log(n)))
        c = -np.log(2 * n - 1)
        p = 1 / (1 + (2 * n - 1) * np.exp(c / k * (2 * np.arange(1, k + 1) - 1)))
        points = np.sort(x)[((n - 1) * p).astype(int)]
        self.c, self.k = c, k
        self.below = np.vstack([np.zeros(k), np.cumsum((x[:, None] < points) + .5 * (x[:, None] == points), axis=0)])
        return self

    def error(self, a, b):
        share = (self.below[b] - self.below[a]) / (b - a)
        return 2 * self.c / self.k * (b - a) * np.sum(special.xlogy(share, share) + special.xlogy(1 - share, 1 - share))


def changes(x):
    pen = 3 * np.log(len(x))
    found = ruptures.Dynp(custom_cost=Empirical(), min_size=5, jump=1).fit(x)
    cost = Empirical().fit(x)
    best = None
    for k in range(6):  # the best of every number of changes, without pruning
        ends = found.predict(n_bkps=k) if k else [len(x)]
        total = sum(cost.error(a, b) for a, b in zip([0] + ends, ends)) + pen * k
        if best is None or total < best[0]:
            best = total, ends[:-1]
    return {"x": f(x), "changes": [int(i) for i in best[1]]}


out["changes"] = [changes(np.round(x, 3)) for x in
                  (rng.normal(0, 1, 80), np.r_[rng.normal(0, 1, 40), rng.normal(3, 1, 30), rng.normal(1, 1, 30)],
                   np.r_[rng.normal(0, 1, 50), rng.normal(0, 6, 50)], np.r_[rng.integers(0, 3, 60), rng.integers(1, 5, 40)])]
print(json.dumps(out, separators=(",", ":")).replace("],[", "],\n["))
