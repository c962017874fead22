package store

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Row is what the ledger keeps of one request that was sent upstream or served,
// however it ended. Of each text the first 512 bytes are kept, of each time the
// micro-seconds.
type Row struct {
	// ID names the request: 1 to 512 bytes. Of rows with one ID the first
	// counts, so that a row which is written again is still there once.
	ID string
	// Time is when the request arrived.
	Time time.Time
	// Tenant that called, and the name of its key or the first characters of
	// the key's hash.
	Tenant, Key string
	// User and Session as the caller named them, "" if it did not.
	User, Session string
	// Surface is the API that was called.
	Surface string
	// ModelAsked is what the caller named, ModelUsed the pool that served it,
	// UpstreamModel what the provider was asked for.
	ModelAsked, ModelUsed, UpstreamModel string
	// Deployment that made the last attempt.
	Deployment string
	// Class in which it was served.
	Class string
	// Decision of the core.
	Decision string
	// Rung names the steps of degradation, comma separated; "" is as asked.
	Rung string
	// Outcome says how it ended.
	Outcome string
	// Status of the answer in HTTP.
	Status int
	// Attempts made upstream.
	Attempts int
	// Input, Output, Cached, CacheWrite and Reasoning are tokens.
	Input, Output, Cached, CacheWrite, Reasoning int64
	// Cost is in micro-dollars. Without Priced the price is unknown, so is the
	// cost, and Cost is not looked at.
	Cost   int64
	Priced bool
	// Estimated says that the provider did not tell the tokens.
	Estimated bool
	// Queued is the time without a place upstream, Service the time upstream,
	// Total the time from arrival to the end.
	Queued, Service, Total time.Duration
}

// A row is a list of texts and one of numbers, in the spool and in the
// database. New fields are added at the end of a list only: a row from before
// then has their zero values, and a version from before leaves them out.
const (
	numTexts   = 14
	numNumbers = 14
)

func (r *Row) texts() [numTexts]*string {
	return [...]*string{&r.ID, &r.Tenant, &r.Key, &r.User, &r.Session, &r.Surface, &r.ModelAsked, &r.ModelUsed, &r.UpstreamModel, &r.Deployment, &r.Class, &r.Decision, &r.Rung, &r.Outcome}
}

func (r *Row) numbers() [numNumbers]int64 {
	return [...]int64{r.Time.UnixMicro(), int64(r.Status), int64(r.Attempts), r.Input, r.Output, r.Cached, r.CacheWrite, r.Reasoning, r.Cost, number(r.Priced), number(r.Estimated),
		r.Queued.Microseconds(), r.Service.Microseconds(), r.Total.Microseconds()}
}

func (r *Row) setNumbers(n [numNumbers]int64) {
	r.Time = time.UnixMicro(n[0]).UTC()
	r.Status, r.Attempts = int(n[1]), int(n[2])
	r.Input, r.Output, r.Cached, r.CacheWrite, r.Reasoning = n[3], n[4], n[5], n[6], n[7]
	r.Cost, r.Priced, r.Estimated = n[8], n[9] != 0, n[10] != 0
	r.Queued, r.Service, r.Total = micros(n[11]), micros(n[12]), micros(n[13])
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// ended is when the request was over.
func (r *Row) ended() time.Time { return r.Time.Add(r.Total) }

// maxText bounds a text in bytes, so that three of them fit into an entry of an
// index of PostgreSQL.
const maxText = 512

// clean gives text as every database takes it. PostgreSQL refuses zero bytes
// and what is not UTF-8, and one such row would hold up all that come after.
func clean(text string) string {
	if len(text) <= maxText && utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	const instead = string(utf8.RuneError)
	text = strings.ReplaceAll(strings.ToValidUTF8(text, instead), "\x00", instead)
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
