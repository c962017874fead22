package config

import "time"

// Ledger says where the use and cost of each request is kept.
type Ledger struct {
	// Whether it is kept. Without it, spillway usage has nothing to show, and what was spent is forgotten at a restart. Default true. A change needs a restart.
	Enabled bool `yaml:"enabled"`
	// Directory of this gateway alone, for the rows that are not yet in the database, and for the SQLite file. It is made if it is not there. Default spillway-data, from where the gateway is started. A change needs a restart.
	Directory string `yaml:"directory"`
	// Connection string of a PostgreSQL database, such as postgres://user:${PASSWORD}@host:5432/database. It is never printed. Default none: an SQLite file in the directory. A change needs a restart.
	Postgres Secret `yaml:"postgres"`
	// How long rows stay. Default 400d. Smaller forgets sooner. A change needs a restart.
	Keep time.Duration `yaml:"keep" jsonschema:"exclusiveMinimum=0"`
	// Bytes of rows that wait in the directory while the database is down. Beyond them rows are lost. Default 1GiB, a few million rows. A change needs a restart.
	Spool Bytes `yaml:"spool" jsonschema:"minimum=1048576"`
}

func (l *Ledger) setDefaults() {
	*l = Ledger{Enabled: true, Directory: "spillway-data", Keep: 400 * 24 * time.Hour, Spool: 1 << 30}
}

// check never repeats the connection string.
func (l *Ledger) check(d *document) {
	if l.Directory == "" {
		d.fail("ledger.directory", "is empty; leave it out for spillway-data, or write ledger: {enabled: false}")
	}
	if l.Postgres == "" && d.wrote("ledger.postgres") {
		d.fail("ledger.postgres", "is empty; leave it out for an SQLite file in the directory")
	}
}
