package config

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// Score says what counts for balance: score, relative to each other.
type Score struct {
	// Weight of what a call costs. Default 1. Smaller lets it cost more.
	Cost Factor `yaml:"cost"`
	// Weight of how soon the answer is complete. Default 1. Smaller lets it take longer.
	Speed Factor `yaml:"speed"`
	// Weight of the deployment's quality for the task. Default 1. Smaller takes worse answers.
	Quality Factor `yaml:"quality"`
}

// Factor is a number without unit, not negative.
type Factor float64

const maxFactor = 1_000_000

func parseFactor(s string) (Factor, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !decimalForm.MatchString(s) || x > maxFactor {
		return 0, errors.New("not a number from 0 to 1000000, such as 1 or 0.5")
	}
	return Factor(x), nil
}

func parseBalance(s string) (admit.Balance, error) {
	if b, ok := admit.ParseBalance(s); ok {
		return b, nil
	}
	return 0, fmt.Errorf("no such balance%s", nearest(s, balanceNames()))
}

func balanceNames() []string {
	var names []string
	for b := admit.LeastLoaded; b <= admit.Score; b++ {
		names = append(names, b.String())
	}
	return names
}

func (s *Score) check(d *document, path string, b admit.Balance) {
	switch {
	case !d.wrote(path):
	case b != admit.Score:
		d.fail(path, "only with balance: score; here it is %s", b)
	case *s == Score{}:
		d.fail(path, "every weight is 0; give one of them another")
	}
}

// policy leaves the weights of another balance at nothing.
func (s *Score) policy(b admit.Balance) admit.ScoreWeights {
	if b != admit.Score {
		return admit.ScoreWeights{}
	}
	return admit.ScoreWeights{Cost: float64(s.Cost), Speed: float64(s.Speed), Quality: float64(s.Quality)}
}
