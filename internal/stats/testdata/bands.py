#!/usr/bin/env python3
"""Reference values for the dip and for mixtures of normal distributions, by the
package diptest (R's diptest for Python) and scikit-learn.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install diptest==0.12.0 scikit-learn==1.9.1 numpy==2.4.6
    /tmp/reference/bin/python internal/stats/testdata/bands.py > internal/stats/testdata/bands.json

Inputs and outputs are stored, so that the tests need neither.
"""
import json
import diptest
import numpy as np
from sklearn.mixture import GaussianMixture

rng = np.random.default_rng(2010)


def dip(x, p=False):
    x = np.sort(np.array(x, float).round(6))
    out = {"x": x.tolist(), "dip": diptest.dipstat(x, allow_zero=False), "p": None}
    if p:
        out["p"] = diptest.diptest(x, boot_pval=True, n_boot=100_000, seed=1)[1]
    return out


def mixture(x, k):
    """k normal distributions, the best of ten starts."""
    x = np.sort(np.array(x, float).round(6))
    z = (x - x.mean()) / x.std()
    best = min((GaussianMixture(k, n_init=10, tol=1e-10, max_iter=5000, random_state=s, init_params=i).fit(z[:, None])
                for s in (1, 2) for i in ("kmeans", "k-means++")), key=lambda m: m.bic(z[:, None]))
    order = np.argsort(best.means_[:, 0])
    return {"x": x.tolist(), "k": k, "bic": float(best.bic(z[:, None])), "share": best.weights_[order].tolist(),
            "mean": best.means_[order, 0].tolist(), "sd": np.sqrt(best.covariances_[order, 0, 0]).tolist()}


two = np.r_[rng.normal(0, 1, 80), rng.normal(6, .5, 40)]
three = np.r_[rng.normal(0, 1, 60), rng.normal(5, .3, 60), rng.normal(9, .6, 30)]
beside = np.r_[rng.normal(0, .1, 70), rng.normal(2, .8, 70)]
print(json.dumps({
    "dip": [dip([0, 0, 1, 1]), dip([1]), dip([5, 5, 5]), dip([1, 2, 3]), dip(rng.normal(0, 1, 50), True), dip(rng.integers(0, 6, 40)),
            dip(two, True), dip(rng.random(150), True), dip(rng.lognormal(0, 2, 200).round(1)),
            dip(np.r_[rng.normal(0, 1, 20), rng.normal(3.2, 1, 20)], True), dip(three), dip(beside)],
    "mixture": [mixture(two, 1), mixture(two, 2), mixture(three, 3), mixture(beside, 2)],
}, indent=1))
