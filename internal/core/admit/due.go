package admit

import (
	"time"

	"github.com/spillway-llm/spillway/internal/core/meter"
)

// agenda is what one lane has waiting by when it must start, and how its
// requests overtake each other. A lane serves what must start first: among
// equal deadlines that is first in first out, and where they differ, those who
// can wait do.
//
// Earliest deadline first fails under overload, as it serves what is about to
// be late; here admission has bounded what waits, and order is a tenant's own
// affair, so nobody pays for another's short deadlines.
type agenda struct {
	width time.Duration     // of a bucket
	work  [agendaSize]int64 // raw slot time that must start within each
	slack meter.Hist        // seconds that recent requests could wait when they came
	over  meter.Mean        // real over predicted delay by those who overtake
}

const (
	agendaSize      = 64 // buckets: they span the longest wait of the class
	overtakeMemory  = 128
	overtakeBelief  = 4 // samples that the prediction itself weighs
	overtakeRefines = 3 // rounds in which the delay settles

	// owed is the share of the way from a request's own place to the end of the
	// lane that must fit too. With 0 those who can wait are overtaken until it
	// is too late for them; with 1 nobody ever waits long, and slots are
	// refused to the urgent that the patient would not miss.
	owed = 0.72
)

// note takes a request that begins to wait.
func (l *lane) note(now time.Time, k *call, maxWait time.Duration) {
	if l.agenda == nil {
		l.agenda = new(agenda)
	}
	l.agenda.width = max(maxWait/(agendaSize-4), time.Millisecond)
	l.agenda.slack.Add(k.item.Due.Sub(now).Seconds())
	l.book(k)
}

// book puts a waiting request into its bucket, unbook takes it out.
func (l *lane) book(k *call) {
	k.booked = uint8(l.agenda.bucket(k.item.Due) % agendaSize)
	l.agenda.work[k.booked] += k.item.Cost
}

func (l *lane) unbook(k *call) { l.agenda.work[k.booked] -= k.item.Cost }

func (a *agenda) bucket(t time.Time) uint64 { return uint64(t.UnixNano()) / uint64(a.width) }

// before is the work that waits and must start before due. What shares its
// bucket counts: of equal deadlines those that wait came first.
func (a *agenda) before(now, due time.Time) (sum int64) {
	first := a.bucket(now) - 1
	last := min(max(a.bucket(due), first), first+agendaSize-1)
	for i := first; i <= last; i++ {
		sum += a.work[i%agendaSize]
	}
	return sum
}

// place predicts the wait of a request that must start by due, when a place
// behind all the others of its lane would be reached after wait. Ahead of it
// are those that must start earlier, and those that will come and must: a
// share of the lane's traffic, until the request itself has become urgent. The
// delay by the latter is corrected by how such predictions turned out.
func (p *pool) place(now time.Time, l *lane, due time.Time, wait time.Duration) (place, delay time.Duration) {
	if p.policy.Queue.Order != Adaptive || l.flow.Len() == 0 || l.newestFirst(now) {
		return wait, 0
	}
	a, left := l.agenda, due.Sub(now)
	share, factor := p.shareOf(l), p.service.Factor()
	behind := span(float64(l.flow.Work()-a.before(now, due)) * factor / share)
	own := min(max(wait-behind, 0), wait)

	urgent := span(a.slack.Quantile(a.slack.Below(left.Seconds())/2) * float64(time.Second)) // half of those who overtake can wait no longer
	latest := max(left-urgent, own)
	traffic := l.rate.PerSecond(now) * factor
	reached := own
	for range overtakeRefines {
		overtake := a.slack.Below((left - reached/2).Seconds()) * traffic
		reached = min(span(float64(own)*share/max(share-overtake, share*(1-busiest))), latest)
	}
	delay = max(min(reached, left)-own, 0)
	return own + span(float64(delay)*a.overtaken()), delay
}

// overtaken is what a predicted delay is multiplied with.
func (a *agenda) overtaken() float64 { return a.over.Shrunk(1, overtakeBelief) }

// waited takes how long a call really waited.
func (p *pool) waited(k *call, real time.Duration) {
	if k.delay > leastWait {
		a := k.lane.agenda
		own := k.promised - span(float64(k.delay)*a.overtaken())
		a.over.Add(min(max(float64(real-own)/float64(k.delay), 0), 2), overtakeMemory)
	}
	if k.promised >= leastWait {
		p.late.Add(float64(real) / float64(k.promised))
	}
}
