package load

import (
	"cmp"
	"slices"
)

// maxMinShares divides capacity among demands: nobody gets more than it asks for, and what is left over goes to the
// others in proportion to their weights. Equal claims are settled in the order of the lists.
func maxMinShares(capacity float64, demands, weights []float64) []float64 {
	order := make([]int, len(demands))
	var weight float64
	for i := range order {
		order[i] = i
		weight += weights[i]
	}
	// Whoever asks for least per weight is filled first.
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(demands[a]*weights[b], demands[b]*weights[a])
	})
	shares := make([]float64, len(demands))
	for _, i := range order {
		shares[i] = min(demands[i], capacity*weights[i]/weight)
		capacity -= shares[i]
		weight -= weights[i]
	}
	return shares
}

// jain is Jain's index of served over share: 1 if all got the same part of their share, 1/n if one of n got all.
// Tenants without a share do not count. ok is false if nothing was served.
func jain(served, shares []float64) (index float64, ok bool) {
	var sum, squares, n float64
	for i, share := range shares {
		if share > 0 {
			x := served[i] / share
			sum, squares, n = sum+x, squares+x*x, n+1
		}
	}
	if squares == 0 {
		return 0, false
	}
	return sum * sum / (n * squares), true
}
