"""Computes what the kernels of package cpu must give, independently of them.

    python3 expected.py

prints the integer hashes and the float energy. Python's floats are IEEE 754
doubles without fused multiply-add; numbers are sorted by Python's sort.
"""
import math

M = (1 << 64) - 1


def integer(k):
    x = (k + 1) * 0x9E3779B97F4A7C15 & M
    a = []
    for _ in range(1024):
        x ^= x >> 12
        x ^= x << 25 & M
        x ^= x >> 27
        a.append(x * 0x2545F4914F6CDD1D & M)
    h = 0xCBF29CE484222325
    for v in sorted(a):
        h = (h ^ v) * 0x100000001B3 & M
    return h


SUN = 4 * math.pi * math.pi
Y = 365.24
BODIES = [
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    (4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01, 1.66007664274403694e-03, 7.69901118419740425e-03, -6.90460016972063023e-05, 9.54791938424326609e-04),
    (8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01, -2.76742510726411899e-03, 4.99852801234917238e-03, 2.30417297573763929e-05, 2.85885980666130812e-04),
    (1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01, 2.96460137564761618e-03, 2.37847173959480950e-03, -2.96589568540237556e-05, 4.36624404335156298e-05),
    (1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01, 2.68067772490389322e-03, 1.62824170038242295e-03, -9.51592254519715870e-05, 5.15138902046611451e-05),
]


def exact(*factors):
    """A product of decimal constants, rounded once, as Go's constants are."""
    from fractions import Fraction
    p = Fraction(1)
    for f in factors:
        p *= f
    return float(p)


def system():
    from fractions import Fraction
    # Go's math.Pi to more digits than its constants need.
    pi = Fraction("3.14159265358979323846264338327950288419716939937510582097494459")
    sun = 4 * pi * pi
    # Constants are exact in Go, and the texts above are what Go reads.
    import re
    text = open(__file__).read()
    rows = re.findall(r"^    \(([-0-9.e+, ]+)\),$", text, re.M)
    s = []
    for row in rows:
        v = [Fraction(t.strip()) for t in row.split(",")]
        s.append([exact(c) for c in v[:3]] + [exact(c, Fraction("365.24")) for c in v[3:6]] + [exact(v[6], sun)])
    mass = exact(sun)
    p = [0.0, 0.0, 0.0]
    for b in s:
        for k in range(3):
            p[k] += b[3 + k] * b[6]
    for k in range(3):
        s[0][3 + k] = -p[k] / mass
    return s


def advance(s, steps):
    for _ in range(steps):
        for i, b in enumerate(s):
            for c in s[i + 1:]:
                d = [b[k] - c[k] for k in range(3)]
                d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
                mag = 0.01 / (d2 * math.sqrt(d2))
                bm, cm = b[6] * mag, c[6] * mag
                for k in range(3):
                    b[3 + k] -= d[k] * cm
                for k in range(3):
                    c[3 + k] += d[k] * bm
        for b in s:
            for k in range(3):
                b[k] += 0.01 * b[3 + k]


def energy(s):
    e = 0.0
    for i, b in enumerate(s):
        e += 0.5 * b[6] * (b[3] * b[3] + b[4] * b[4] + b[5] * b[5])
        for c in s[i + 1:]:
            d = [b[k] - c[k] for k in range(3)]
            e -= b[6] * c[6] / math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    return e


if __name__ == "__main__":
    for k in range(16):
        print(f"{integer(k):#018x},")
    s = system()
    advance(s, 500)
    print(repr(energy(s)), energy(s).hex())
