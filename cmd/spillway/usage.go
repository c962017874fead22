package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spillway-llm/spillway/internal/edge/config"
	"github.com/spillway-llm/spillway/internal/edge/store"
)

type usageCmd struct {
	Config string   `required:"" type:"path" placeholder:"FILE" help:"Configuration of the gateway. It may be running."`
	By     []string `default:"tenant,model,day" help:"What to tell apart, comma separated: ${dimensions}."`
	From   string   `placeholder:"TIME" help:"From this day, 2026-03-31, or this time, 2026-03-31T08:00:00Z. Default 30 days up to --to."`
	To     string   `placeholder:"TIME" help:"Up to the end of this day, or before this time. Default now."`
	Zone   string   `default:"UTC" help:"Time zone of days, such as Europe/Berlin."`
	Tenant string   `help:"Only this tenant."`
	Model  string   `help:"Only this model, by the name of its pool."`
	Format string   `enum:"table,csv,json" default:"table" help:"${enum}. In JSON costs are micro-dollars."`
}

func (c *usageCmd) Run(ctx context.Context) error {
	q, err := c.query(time.Now())
	if err != nil {
		return usageError{err}
	}
	cfg, err := config.Load(c.Config)
	if err != nil {
		return usageError{err}
	}
	r, err := store.OpenReader(ctx, store.Options{Directory: cfg.Ledger.Directory, Postgres: string(cfg.Ledger.Postgres)})
	if errors.Is(err, store.ErrNone) {
		return fmt.Errorf("%w; %s", err, noLedger(cfg.Ledger))
	}
	if err != nil {
		return err
	}
	defer r.Close()
	lines, err := r.Usage(ctx, q)
	if err != nil {
		return err
	}
	return c.print(os.Stdout, q, lines)
}

// noLedger says why there may be none.
func noLedger(l config.Ledger) string {
	switch {
	case !l.Enabled:
		return "it is switched off (ledger.enabled)"
	case l.Postgres == "" && !filepath.IsAbs(l.Directory):
		here, _ := os.Getwd()
		return fmt.Sprintf("a gateway begins it when it serves. ledger.directory is seen from where the gateway is started, this command was started in %s", here)
	default:
		return "a gateway begins it when it serves"
	}
}

// query reads the flags.
func (c *usageCmd) query(now time.Time) (q store.Query, err error) {
	q.Tenant, q.Model = c.Tenant, c.Model
	for _, name := range c.By {
		d, ok := store.ParseDimension(strings.TrimSpace(name))
		if !ok {
			return q, fmt.Errorf("--by: %q is not one of %s", name, strings.Join(store.DimensionNames(), ", "))
		}
		if slices.Contains(q.By, d) {
			return q, fmt.Errorf("--by: %v is there twice", d)
		}
		q.By = append(q.By, d)
	}
	if q.Zone, err = time.LoadLocation(c.Zone); err != nil || c.Zone == "Local" || c.Zone == "" {
		return q, fmt.Errorf("--zone: %q is not a time zone; write its IANA name, such as Europe/Berlin or UTC", c.Zone)
	}
	q.To = now
	if c.To != "" {
		if q.To, err = moment(c.To, 1, q.Zone); err != nil {
			return q, fmt.Errorf("--to: %w", err)
		}
	}
	if c.From != "" {
		if q.From, err = moment(c.From, 0, q.Zone); err != nil {
			return q, fmt.Errorf("--from: %w", err)
		}
	} else {
		const days = 30
		year, month, day := q.To.Add(-1).In(q.Zone).Date()
		q.From = store.DayStart(year, month, day-days+1, q.Zone)
	}
	if !q.From.Before(q.To) {
		return q, fmt.Errorf("there is no time from %s to %s", q.From.In(q.Zone).Format(time.RFC3339), q.To.In(q.Zone).Format(time.RFC3339))
	}
	return q, nil
}

// moment reads a time, or a day and takes the beginning of the day that many
// days later.
func moment(s string, later int, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time; write a day like 2026-03-31, or a time like 2026-03-31T08:00:00Z", s)
	}
	year, month, day := d.Date()
	return store.DayStart(year, month, day+later, zone), nil
}

func (c *usageCmd) print(w io.Writer, q store.Query, lines []store.Line) error {
	var err error
	switch c.Format {
	case "csv":
		err = usageCSV(w, q.By, lines)
	case "json":
		err = usageJSON(w, q.By, lines)
	default:
		if len(lines) == 0 {
			_, err = fmt.Fprintf(w, "no requests from %s to %s\n", q.From.In(q.Zone).Format(time.RFC3339), q.To.In(q.Zone).Format(time.RFC3339))
			break
		}
		_, err = io.WriteString(w, usageTable(q.By, lines))
	}
	if err != nil {
		return fmt.Errorf("write usage: %w", err)
	}
	return nil
}
