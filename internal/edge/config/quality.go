package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"
)

// Quality is how good the answers of a deployment are, by task. In the file it
// may also be one number, for every task.
type Quality map[string]Fraction

// otherTasks is the key in the file for tasks that are not named; it is "" in
// a checked configuration, as in the core.
const otherTasks = "default"

func (Quality) only() string { return otherTasks }

// Fraction is a number from 0 to 1.
type Fraction float64

func parseFraction(s string) (Fraction, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !decimalForm.MatchString(s) || x > 1 {
		return 0, errors.New("not a number from 0 to 1, such as 0.9")
	}
	return Fraction(x), nil
}

func (q Quality) check(d *document, path string) {
	for _, task := range slices.Sorted(maps.Keys(q)) {
		if at := join(path, task); !printableName(task) {
			d.fail(at, "a task's name is 1 to %d characters without spaces", maxName)
		}
	}
	if x, ok := q[otherTasks]; ok {
		delete(q, otherTasks)
		q[""] = x
	}
}

func (q Quality) policy() map[string]float64 {
	if len(q) == 0 {
		return nil
	}
	m := make(map[string]float64, len(q))
	for task, x := range q {
		m[task] = float64(x)
	}
	return m
}
