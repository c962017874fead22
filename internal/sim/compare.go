package sim

import "fmt"

// Comparison is one workload under several policies. Every policy meets the
// same requests with the same true work.
type Comparison struct {
	Order   []string
	Results map[string]*Result
	Load    float64 // offered work over capacity
}

// Compare plays a workload with each policy. workload must give the same
// arrivals every time. If the clairvoyant is among the policies, the others
// are measured against it.
func Compare(w World, workload func() (Source, error), policies []string) (*Comparison, error) {
	c := &Comparison{Order: policies, Results: map[string]*Result{}}
	for _, name := range policies {
		if c.Results[name] != nil {
			return nil, fmt.Errorf("policy %q is named twice", name)
		}
		s, err := workload()
		if err != nil {
			return nil, err
		}
		w.Decider = name
		if c.Results[name], err = Simulate(w, s); err != nil {
			return nil, err
		}
	}
	c.Load = c.Results[policies[0]].OfferedWork
	if oracle := c.Results["oracle"]; oracle != nil {
		for _, r := range c.Results {
			r.Against(oracle)
		}
	}
	return c, nil
}
