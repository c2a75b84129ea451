package cpu

import (
	"math"
)

// integerLength is how many numbers one integer operation sorts: 8 KiB, within
// every first-level data cache.
const integerLength = 1024

// integerOp fills a with pseudo-random numbers from the seed (xorshift64*,
// Vigna 2016, "An experimental exploration of Marsaglia's xorshift
// generators"), sorts it by heap sort (Williams 1964) and returns a hash of
// the sorted numbers (FNV-1a over 64-bit words): shifts, multiplications,
// comparisons, unpredictable branches, and dependent loads.
func integerOp(a *[integerLength]uint64, seed uint64) uint64 {
	x := seed
	for i := range a {
		x ^= x >> 12
		x ^= x << 25
		x ^= x >> 27
		a[i] = x * 0x2545F4914F6CDD1D
	}
	heapSort(a)
	h := uint64(0xcbf29ce484222325)
	for _, v := range a {
		h = (h ^ v) * 0x100000001b3
	}
	return h
}

func heapSort(a *[integerLength]uint64) {
	for i := len(a)/2 - 1; i >= 0; i-- {
		siftDown(a, i, len(a))
	}
	for end := len(a) - 1; end > 0; end-- {
		a[0], a[end] = a[end], a[0]
		siftDown(a, 0, end)
	}
}

// siftDown moves a[i] to its place in the heap a[:end].
func siftDown(a *[integerLength]uint64, i, end int) {
	v := a[i]
	for {
		child := 2*i + 1
		if child >= end {
			break
		}
		if child+1 < end && a[child+1] > a[child] {
			child++
		}
		if a[child] <= v {
			break
		}
		a[i] = a[child]
		i = child
	}
	a[i] = v
}

// integerSeed returns the seed of the k-th case.
func integerSeed(k int) uint64 { return uint64(k+1) * 0x9E3779B97F4A7C15 }

// integerHashes are the results for the seeds 0 to 15, computed by
// testdata/expected.py, which sorts with Python's own sort.
var integerHashes = [16]uint64{
	0xa3e40d93c85d8bdb, 0x1418f8a70155b33b, 0xa4e80a4f17a78abe, 0x4f76ff6b87efd7c3,
	0x05e83e00e503c82a, 0xe5bb0066f983aa85, 0x6b91d43fd21dd7f9, 0x1333474b996c2297,
	0x66ddae1c0af67f22, 0x0314ed3f30d42a39, 0xacc4d2771e664181, 0x7312a191c091c745,
	0xce26de84eef612f4, 0x4080c73d25e313fd, 0x496ce40a3922f83e, 0x81d20328c901781b,
}

// floatSteps is how many time steps one floating-point operation integrates.
const floatSteps = 500

// body is a celestial body: position in AU, velocity in AU a year, mass in
// units in which the sun has 4π².
type body struct{ x, y, z, vx, vy, vz, mass float64 }

const (
	solarMass = 4 * math.Pi * math.Pi
	year      = 365.24 // days
	timeStep  = 0.01   // years
)

// solarSystem is the sun with Jupiter, Saturn, Uranus and Neptune, as in the
// n-body problem of the Computer Language Benchmarks Game (data of the JPL).
// The sun's velocity makes the total momentum zero; it is filled in by
// newSystem.
var solarSystem = [5]body{
	{mass: solarMass},
	{4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
		1.66007664274403694e-03 * year, 7.69901118419740425e-03 * year, -6.90460016972063023e-05 * year,
		9.54791938424326609e-04 * solarMass},
	{8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
		-2.76742510726411899e-03 * year, 4.99852801234917238e-03 * year, 2.30417297573763929e-05 * year,
		2.85885980666130812e-04 * solarMass},
	{1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
		2.96460137564761618e-03 * year, 2.37847173959480950e-03 * year, -2.96589568540237556e-05 * year,
		4.36624404335156298e-05 * solarMass},
	{1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
		2.68067772490389322e-03 * year, 1.62824170038242295e-03 * year, -9.51592254519715870e-05 * year,
		5.15138902046611451e-05 * solarMass},
}

// newSystem returns the initial state.
func newSystem() [5]body {
	s := solarSystem
	var px, py, pz float64
	for _, b := range s {
		px += float64(b.vx * b.mass)
		py += float64(b.vy * b.mass)
		pz += float64(b.vz * b.mass)
	}
	s[0].vx, s[0].vy, s[0].vz = -px/solarMass, -py/solarMass, -pz/solarMass
	return s
}

// advance moves the system by so many steps of symplectic Euler integration.
//
// Every product is converted to float64 before it is added: that forbids fused
// multiply-add (Go specification, "Floating-point operators"), so the result
// is the same to the last bit on every architecture.
func advance(s *[5]body, steps int) {
	for range steps {
		for i := range s {
			b := &s[i]
			for j := i + 1; j < len(s); j++ {
				c := &s[j]
				dx, dy, dz := b.x-c.x, b.y-c.y, b.z-c.z
				d2 := float64(dx*dx) + float64(dy*dy) + float64(dz*dz)
				mag := timeStep / (d2 * math.Sqrt(d2))
				bm, cm := b.mass*mag, c.mass*mag
				b.vx -= float64(dx * cm)
				b.vy -= float64(dy * cm)
				b.vz -= float64(dz * cm)
				c.vx += float64(dx * bm)
				c.vy += float64(dy * bm)
				c.vz += float64(dz * bm)
			}
		}
		for i := range s {
			b := &s[i]
			b.x += float64(timeStep * b.vx)
			b.y += float64(timeStep * b.vy)
			b.z += float64(timeStep * b.vz)
		}
	}
}

// energy returns the total energy of the system.
func energy(s *[5]body) float64 {
	var e float64
	for i := range s {
		b := &s[i]
		v2 := float64(b.vx*b.vx) + float64(b.vy*b.vy) + float64(b.vz*b.vz)
		e += float64(0.5 * b.mass * v2)
		for j := i + 1; j < len(s); j++ {
			c := &s[j]
			dx, dy, dz := b.x-c.x, b.y-c.y, b.z-c.z
			d := math.Sqrt(float64(dx*dx) + float64(dy*dy) + float64(dz*dz))
			e -= float64(b.mass*c.mass) / d
		}
	}
	return e
}

// floatOp integrates the system from its beginning and returns its energy.
func floatOp(s *[5]body, from *[5]body) float64 {
	*s = *from
	advance(s, floatSteps)
	return energy(s)
}

// floatEnergy is the result, computed by testdata/expected.py.
const floatEnergy = -0x1.5a27f56d243afp-3
