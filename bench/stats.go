package bench

import (
	"math"
	"slices"
)

// Spread is what several rounds gave: the middle one, and how far they went.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf sorts the figures of the rounds; there must be at least one.
func spreadOf(figures []float64) Spread {
	sorted := slices.Sorted(slices.Values(figures))
	n := len(sorted)
	median := sorted[n/2]
	if n%2 == 0 {
		median = (median + sorted[n/2-1]) / 2
	}
	return Spread{Median: median, Min: sorted[0], Max: sorted[n-1]}
}

// exponent fits y = c * x^e by least squares of the logarithms and gives e: 0 is
// a cost that does not grow, 1 one that grows with x. It needs two different x.
func exponent(x, y []float64) float64 {
	n := float64(len(x))
	var sumX, sumY, sumXX, sumXY float64
	for i := range x {
		lx, ly := math.Log(x[i]), math.Log(y[i])
		sumX, sumY, sumXX, sumXY = sumX+lx, sumY+ly, sumXX+lx*lx, sumXY+lx*ly
	}
	return (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
}
