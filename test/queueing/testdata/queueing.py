#!/usr/bin/env python3
"""Reference values for the queueing theory of package stats.

    python3 test/queueing/testdata/queueing.py > test/queueing/testdata/queueing.json

Needs Python 3.8 or newer and nothing else. No formula here is the one that
package stats uses:

- Erlang's B and C as sums of fractions, by their definitions;
- M/M/c response times by integrating over the wait numerically;
- M/D/1 waiting times by Erlang's alternating series, with 200 digits;
- M/D/c by iterating the number of those who wait from one service time to the
  next until it is stationary; the mean by Little's law, P(no wait) = P(fewer
  than c are there);
- M/D/c and M/M/c by simulation (Kiefer and Wolfowitz), with standard errors
  from 50 batches.
"""
import heapq
import json
import math
import random
from decimal import Decimal as D, getcontext
from fractions import Fraction as F

getcontext().prec = 200
out = {}


def factorial_sum(a, n):
    return sum(a**k / F(math.factorial(k)) for k in range(n))


def erlang(c, a):
    a = F(a)
    last = a**c / F(math.factorial(c))
    b = last / (factorial_sum(a, c) + last)
    wait = last * c / (c - a)
    return float(b), float(wait / (factorial_sum(a, c) + wait))


out["erlang"] = [[c, float(F(a)), *erlang(c, a)]
                 for c, a in ((1, "1/2"), (2, 1), (2, "9/5"), (4, "12/5"), (5, 4), (10, 8), (50, 45), (200, 190))]


def mmc_response_over(c, a, t):
    """P(wait + service > t), mu = 1, by Simpson's rule over the wait's density."""
    wait = erlang(c, a)[1]
    theta = c - float(F(a))
    n = 20000
    h = t / n

    def f(w):
        return wait * theta * math.exp(-theta * w) * math.exp(-(t - w))
    inner = sum((1 if i in (0, n) else 4 if i % 2 else 2) * f(i * h) for i in range(n + 1)) * h / 3
    return (1 - wait) * math.exp(-t) + inner + wait * math.exp(-theta * t)


# x = c - 1 - a is negative, zero, positive.
out["mmc_response"] = [[c, float(F(a)), t, mmc_response_over(c, a, t)]
                       for c, a in ((1, "4/5"), (2, "3/2"), (2, 1), (4, "12/5"), (4, 3), (8, "38/5"))
                       for t in (.5, 2., 6.)]


def md1_wait_within(rho, t):
    """Erlang (1909): P(W <= t), D = 1."""
    rho, t = D(rho), D(t)
    total = D(0)
    for j in range(int(t) + 1):
        x = rho * (t - j)
        power = (-x)**j if j > 0 else D(1)
        total += power / D(math.factorial(j)) * x.exp()
    return float((1 - rho) * total)


out["md1"] = [[float(rho), float(t), md1_wait_within(rho, t)]
              for rho in (".1", ".3", ".6", ".8", ".95")
              for t in ("0", ".25", "1", "1.5", "2.75", "5", "10", "30.5", "60")]


def mdc(c, rho):
    """Mean wait in service times, and P(no wait): after a service time, those
    who waited without being served by then, and those who came since, are
    there."""
    rho = float(rho)
    a = rho * c
    pois = [math.exp(-a)]
    while pois[-1] > 1e-25 or len(pois) <= a:
        pois.append(pois[-1] * a / len(pois))
    v = [1.0] + [0.0] * (40 + int(c * 60 / (1 - rho)))  # how many wait: nobody
    change = 1.0
    while change > 1e-14:
        w = [0.0] * len(v)
        for i, x in enumerate(v):
            if x > 1e-22:
                for k, p in enumerate(pois):
                    w[min(max(i + k - c, 0), len(v) - 1)] += x * p
        change = sum(abs(x - y) for x, y in zip(v, w))
        v = w
    mean = sum(i * x for i, x in enumerate(v)) / a
    fewer = sum(x * p for i, x in enumerate(v[:c]) for k, p in enumerate(pois[:c - i]))
    return mean, fewer


out["mdc"] = [[c, float(rho), *mdc(c, rho)] for c, rho in ((1, ".6"), (2, ".5"), (2, ".8"), (4, ".8"), (8, ".6"), (16, ".9"))]


def simulate(c, rho, constant, n, seed, at):
    """Mean wait and P(W > t) for each t in at; service 1; standard errors."""
    rng = random.Random(seed)
    free = [0.0] * c
    t, batches, size = 0.0, [], n // 50
    rows = []
    for k in range(-n // 10, n):
        t += rng.expovariate(rho * c)
        begin = max(t, free[0])
        heapq.heapreplace(free, begin + (1.0 if constant else rng.expovariate(1.0)))
        if k >= 0:
            rows.append(begin - t)
            if len(rows) == size:
                batches.append([sum(rows) / size] + [sum(w > x for w in rows) / size for x in at])
                rows = []
    means = [sum(col) / len(batches) for col in zip(*batches)]
    errors = [math.sqrt(sum((x - m)**2 for x in col) / (len(batches) - 1) / len(batches))
              for col, m in zip(zip(*batches), means)]
    return {"servers": c, "rho": rho, "constant": constant, "at": at, "mean": means[0], "mean_error": errors[0],
            "over": means[1:], "over_error": errors[1:]}


out["simulated"] = [simulate(c, rho, constant, 2_000_000, 100 * c + int(10 * rho), [0.0, .3, 1.0, 1.7, 3.2])
                    for c, rho in ((1, .6), (2, .8), (4, .8), (8, .9)) for constant in (True, False)]
print(json.dumps(out, indent=1))
