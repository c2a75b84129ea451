#!/usr/bin/env python3
"""Reference bandwidths of Botev, Grotowski and Kroese, by KDEpy on cells of ours,
and NumPy's bins of Freedman and Diaconis.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install KDEpy==1.1.12 scipy==1.17.1 numpy==2.4.6
    /tmp/reference/bin/python internal/stats/testdata/density.py > internal/stats/testdata/density.json

Inputs and outputs are stored, so that the tests need neither.
"""
import json
import numpy as np
from scipy import fft
from KDEpy.bw_selection import _fixed_point, _root

rng = np.random.default_rng(2010)


def bandwidth(name, x):
    """In cells of 1/16384 of 1.2 times the range; KDEpy's own cells are wider."""
    x = np.sort(np.array(x, float).round(9))
    n, size = 2**14, 1.2 * (x[-1] - x[0])
    low = x[0] - (x[-1] - x[0]) / 10
    shares = np.histogram(x, bins=n, range=(low, low + size))[0] / len(x)
    squares, a2 = np.arange(1, n, dtype=float)**2, fft.dct(shares)[1:]**2
    t = _root(_fixed_point, len(x), (len(x), squares, a2))
    return {"name": name, "x": x.tolist(), "bandwidth": float(np.sqrt(t) * size),
            "width": float(2 * np.subtract(*np.percentile(x, [75, 25])) / len(x)**(1 / 3))}


print(json.dumps([
    bandwidth("normal", rng.normal(100, 10, 300)),
    bandwidth("two narrow bands", np.r_[rng.normal(50, .5, 60), rng.normal(100, 1, 200)]),
    bandwidth("lognormal", rng.lognormal(0, .8, 250)),
], indent=1))
