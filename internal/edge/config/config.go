// Package config reads the file an operator writes: it fills defaults, checks
// everything, and gives a finished configuration or every fault with its place.
package config

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"
)

// maxFile bounds the configuration file: a thousand times what anybody writes.
const maxFile = 8 << 20

// CatchAll is the name of the pool that serves every model no other pool names.
const CatchAll = "*"

// OpenTenant is the one tenant there is when no tenant is configured.
const OpenTenant = "open"

// Config is a whole, checked configuration: every default is filled in, every
// name resolves. It is not changed after Parse returns it and may be read by
// any number of goroutines.
type Config struct {
	// Address that callers use, host:port. Default 127.0.0.1:8080. Without tenants it must be a loopback address. A change needs a restart.
	Listen string `yaml:"listen"`
	// Address of metrics and health, host:port. Default 127.0.0.1:9090. Not for the public. A change needs a restart.
	Ops string `yaml:"ops"`
	// Whether predicted refusals are carried out (enforce) or only counted (observe). Hard limits refuse in both. Default enforce.
	Admission Mode `yaml:"admission"`
	// How long a stopping gateway serves what is queued and streaming. Default 30s. Smaller cuts more answers off.
	Drain time.Duration `yaml:"drain"`
	// Sizes and times that bound one connection.
	Limits Limits `yaml:"limits"`
	// Upstreams by name.
	Providers map[string]*Provider `yaml:"providers" jsonschema:"required"`
	// What callers may name as a model, and who serves it. The name * serves every model not named. Without models a single provider serves them all.
	Models map[string]*Model `yaml:"models"`
	// How each class of requests is treated.
	Classes Classes `yaml:"classes"`
	// File of prices, in place of the bundled table: of deployments that say none, by the model's name. Relative to this file. Default the bundled table. It is not watched: a change of it takes effect on SIGHUP, or when this file changes.
	Prices string `yaml:"prices"`
	// What all tenants together may spend. Default no limit.
	Budget Budget `yaml:"budget"`
	// The cache of whole answers. Default none.
	Answers Answers `yaml:"answers"`
	// How many attempts may follow a first one.
	Retry Retry `yaml:"retry"`
	// Who is told, beside log and metric, that more capacity is needed. Default nobody.
	ScaleUp ScaleUp `yaml:"scale_up"`
	// Who may call, and how much. Without tenants everybody may, on a loopback address only.
	Tenants []Tenant `yaml:"tenants"`
	// Where the use and cost of each request is kept.
	Ledger Ledger `yaml:"ledger"`
	// Who may look at the gateway and change it.
	Admin Admin `yaml:"admin"`
	// What is logged.
	Log Log `yaml:"log"`
	// Where spans of requests go, and of which. Default nowhere.
	Traces Traces `yaml:"traces"`
	// What a simulated run needs beside the rest. The running gateway ignores it.
	Simulation Simulation `yaml:"simulation"`

	open  bool
	keys  *Keys
	asOf  string            // the day of the table of prices
	parts map[string]string // by pool of a precision, the model that it is part of

	origins map[string]bool // by path of what was written, whether a change wrote it
}

// Mode says what happens to a predicted refusal.
type Mode string

const (
	Enforce Mode = "enforce" // it is refused
	Observe Mode = "observe" // it is marked, counted and let through
)

func (m Mode) String() string { return string(m) }

func (Mode) choices() []string { return []string{string(Enforce), string(Observe)} }

// Limits bound what one connection may cost.
type Limits struct {
	// Bytes of a request body. Default 32MiB. Smaller refuses large prompts with 413.
	Body Bytes `yaml:"body" jsonschema:"minimum=1024,maximum=1073741824"`
	// Bytes of all request headers. Default 64KiB. Smaller refuses more callers with 431. A change needs a restart.
	Headers Bytes `yaml:"headers" jsonschema:"minimum=4096,maximum=16777216"`
	// Bytes of one event of a stream. Default 32MiB. A larger event ends its stream with an error.
	Event Bytes `yaml:"event" jsonschema:"minimum=4096,maximum=1073741824"`
	// How long a caller may leave its answer unread before it is cut off. Default 30s. Smaller frees slots sooner and cuts slow readers.
	WriteStall time.Duration `yaml:"write_stall" jsonschema:"exclusiveMinimum=0"`
}

// Log says what is logged.
type Log struct {
	// The least level that is written. Default info.
	Level Level `yaml:"level"`
}

// Level is the least severity that is logged; its names are those of log/slog
// in lower case.
type Level string

const (
	LevelDebug Level = "debug"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

func (l Level) String() string { return string(l) }

func (Level) choices() []string {
	return []string{string(LevelDebug), string(LevelInfo), string(LevelWarn), string(LevelError)}
}

func (c *Config) setDefaults() {
	c.Listen, c.Ops = "127.0.0.1:8080", "127.0.0.1:9090"
	c.Admission = Enforce
	c.Drain = 30 * time.Second
	c.Limits = Limits{Body: 32 << 20, Headers: 64 << 10, Event: 32 << 20, WriteStall: 30 * time.Second}
	c.Classes.setDefaults()
	c.Answers.setDefaults()
	c.Retry.setDefaults()
	c.ScaleUp.setDefaults()
	c.Ledger.setDefaults()
	c.Admin.setDefaults()
	c.Log.Level = LevelInfo
	c.Traces.setDefaults()
}

// Load reads and checks the file at path, with variables from the process
// environment. A faulty file gives Problems.
func Load(path string) (*Config, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, os.LookupEnv)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("read configuration: %s is larger than %d bytes", path, maxFile)
	}
	return data, nil
}

// Parse checks the text of a file; name is what errors call it, and env looks
// up variables. A faulty text gives Problems: all of them, where one does not
// hide another.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, error) {
	c, _, err := parseWith(name, data, env, nil)
	return c, err
}

// parseWith is Parse with changes in place of parts of the text.
func parseWith(name string, data []byte, env func(string) (string, bool), changes *grafting) (*Config, *document, error) {
	c := new(Config)
	c.setDefaults()
	d := newDocument(name, env)
	d.grafting = changes
	d.decode(data, c)
	if len(d.problems) == 0 {
		c.check(d)
	}
	if changes != nil {
		changes.settle(d)
	}
	if len(d.problems) > 0 {
		return nil, d, d.sorted()
	}
	c.origins = d.origins()
	return c, d, nil
}

func (c *Config) check(d *document) {
	if loopback, err := checkAddress(c.Listen); err != nil {
		d.fail("listen", "%v", err)
	} else if len(c.Tenants) == 0 && !loopback {
		d.fail("listen", "without tenants anybody could call; add tenants with keys, or listen on 127.0.0.1")
	}
	if _, err := checkAddress(c.Ops); err != nil {
		d.fail("ops", "%v", err)
	} else if c.Ops == c.Listen && !anyPort(c.Ops) {
		d.fail("ops", "same address as listen; give it another port")
	}
	c.checkProviders(d)
	prices := c.readPrices(d)
	c.checkModels(d, prices)
	c.checkLadders(d)
	c.Classes.check(d)
	c.ScaleUp.check(d, "scale_up")
	c.Ledger.check(d)
	c.Traces.check(d)
	c.checkSimulation(d)
	if len(c.Tenants) == 0 {
		c.open = true
		t := Tenant{Name: OpenTenant}
		t.setDefaults()
		t.fillClasses(false)
		c.Tenants = []Tenant{t}
	} else {
		c.checkTenants(d)
	}
	c.keys = newKeys(c.Tenants)
	c.checkAdmin(d)
	c.checkBudgets(d)
	if prices != nil {
		c.asOf = prices.AsOf
		c.checkPrices(d)
	}
}

// checkAddress reads host:port and tells whether the host is this machine only.
func checkAddress(s string) (loopback bool, err error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return false, errors.New("not an address; write it like 127.0.0.1:8080 or \":8080\"")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return false, errors.New("the port must be a number from 0 to 65535")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

func anyPort(address string) bool {
	_, port, _ := net.SplitHostPort(address)
	return port == "0"
}

// Open reports whether callers need no key. All of them are then OpenTenant,
// which is in Tenants.
func (c *Config) Open() bool { return c.open }

// Keys returns the keys of all tenants.
func (c *Config) Keys() *Keys { return c.keys }

// PricesAsOf is the day of the table that prices come from which the file does
// not say, such as 2026-01-31.
func (c *Config) PricesAsOf() string { return c.asOf }

// Tenant returns the tenant of that name, or nil.
func (c *Config) Tenant(name string) *Tenant {
	i := slices.IndexFunc(c.Tenants, func(t Tenant) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Tenants[i]
}

// Pool returns the name of the pool that serves what a caller calls model: the
// pool of that name, or CatchAll.
func (c *Config) Pool(model string) (pool string, ok bool) {
	for _, pool := range []string{model, CatchAll} {
		if _, ok := c.Models[pool]; ok {
			return pool, true
		}
	}
	return "", false
}

// Restart names the settings that differ from old and take effect only when
// the process starts again. Everything else may change while it runs.
func (c *Config) Restart(old *Config) []string {
	var names []string
	for _, s := range []struct {
		name    string
		changed bool
	}{
		{"listen", c.Listen != old.Listen},
		{"ops", c.Ops != old.Ops},
		{"limits.headers", c.Limits.Headers != old.Limits.Headers},
		{"ledger", c.Ledger != old.Ledger},
		{"admin.directory", c.Admin.Directory != old.Admin.Directory},
	} {
		if s.changed {
			names = append(names, s.name)
		}
	}
	return names
}
