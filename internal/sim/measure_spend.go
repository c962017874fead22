package sim

import (
	"fmt"
	"math"
	"strings"

	"github.com/spillway-llm/spillway/internal/core/admit"
)

// spendMeasures are the words about accounts with budgets. WHO is an account,
// such as "tenant app", and without it all are meant: the worst counts.
var spendMeasures = map[string]func(*SpendingFigures) float64{
	"spent":     func(f *SpendingFigures) float64 { return f.Most },
	"overshoot": func(f *SpendingFigures) float64 { return f.Overshoot },
	"of budget": func(f *SpendingFigures) float64 { return percent(f.Most / f.Limit) },
}

const alarmWord = "alarm "

// alarmOf is the alarm of a measure such as "alarm fast".
func alarmOf(measure string) (string, bool) {
	name, ok := strings.CutPrefix(measure, alarmWord)
	for a := admit.Fast; ok && a < admit.NumAlarms; a++ {
		if a.String() == name {
			return name, true
		}
	}
	return "", false
}

// ofAccounts is a measure of the accounts that somebody names.
func (r *Result) ofAccounts(measure, who string) (worst float64, err error) {
	alarm, alarms := alarmOf(measure)
	found := false
	var known []string
	for i := range r.Spending {
		f := &r.Spending[i]
		known = append(known, f.Account)
		if who != "" && who != f.Account {
			continue
		}
		found = true
		if alarms {
			worst = max(worst, f.first(alarm))
		} else {
			worst = max(worst, spendMeasures[measure](f))
		}
	}
	if !found {
		return 0, unknownWord("account with a budget that spent something", who, known)
	}
	return worst, nil
}

// first is how much of a limit was spent when an alarm was raised first, in per
// cent; without end if it never was.
func (f *SpendingFigures) first(alarm string) float64 {
	for _, a := range f.Alarms {
		if a.To == alarm {
			return percent(a.Used)
		}
	}
	return math.Inf(1)
}

const alarmsTold = 6 // of an account in the table

// spendText is what the table says of accounts; nothing without budgets.
func (r *Result) spendText() string {
	if len(r.Spending) == 0 {
		return ""
	}
	var b strings.Builder
	rows := [][]string{{"account", "span", "limit", "spent", "of it", "overshoot"}}
	for i := range r.Spending {
		f := &r.Spending[i]
		rows = append(rows, []string{
			f.Account, f.Span, fmt.Sprintf("%.4f$", f.Limit), fmt.Sprintf("%.4f$", f.Most), inPercent(f.Most / f.Limit), fmt.Sprintf("%.6f$", f.Overshoot),
		})
	}
	writeRows(&b, rows)
	told := ""
	for i := range r.Spending {
		f := &r.Spending[i]
		if f.Account == told {
			continue
		}
		told = f.Account
		for n, a := range f.Alarms {
			if n == alarmsTold {
				fmt.Fprintf(&b, "%s: %d more\n", f.Account, len(f.Alarms)-n)
				break
			}
			fmt.Fprintf(&b, "%s at %.1f s: from %s to %s, %.1f %% spent\n", f.Account, a.At, a.From, a.To, percent(a.Used))
		}
	}
	return b.String()
}

// stageText is what refused, in the order in which it is asked.
func (r *Result) stageText() string {
	var parts []string
	for s := range admit.Stage(admit.NumStages) {
		if n := r.Stages[s.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", s, n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "refused by " + strings.Join(parts, ", ") + "\n"
}
