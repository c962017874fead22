package admit

import "time"

// lookBound keeps the queues bounded. A full queue makes room for a request
// of better rank: the newest of the same tenant's worse classes, or the newest
// of the fattest tenant in the worst class that waits. Among equals of one
// class only a fatter tenant gives way. Where a flow serves the newest first
// its oldest goes instead: it would be served last.
func (c *Controller) lookBound(now time.Time, r *Request, p *plan) bool {
	q := &p.pool.policy.Queue
	p.victims = c.victims[:0]
	waiting, held, work := p.pool.waiting(), p.pool.waitingBytes(), p.pool.work()
	// What gives way must make room under every bound at once.
	enough := func(n int, freed int64) bool { return n > 0 && waiting-n < q.Total && held-freed+r.Bytes <= q.Bytes }
	switch {
	case p.member.waiting >= q.PerTenant:
		p.measure("the tenant's requests waiting for the model", int64(p.member.waiting), int64(q.PerTenant))
		if v := p.ownVictim(now, r.Class); v != nil && enough(1, v.item.Bytes) {
			p.victims = append(p.victims, v)
			return false
		}
	case r.Bytes > q.Bytes:
		p.measure("bytes of requests waiting for the model", held+r.Bytes, q.Bytes)
		p.noRetry = true
	case waiting >= q.Total:
		p.measure("requests waiting for the model", int64(waiting), int64(q.Total))
		if p.makeRoom(now, r.Class, enough) {
			return false
		}
	case held+r.Bytes > q.Bytes:
		p.measure("bytes of requests waiting for the model", held+r.Bytes, q.Bytes)
		if p.makeRoom(now, r.Class, enough) {
			return false
		}
	case work > q.Work:
		p.measure("milliseconds of work waiting for the model", millis(work), millis(q.Work))
		if p.makeRoom(now, r.Class, enough) {
			return false
		}
	default:
		return false
	}
	return p.reject(p.comeBack(now, 0))
}

// ownVictim is what the tenant itself would give up for a request of class.
func (p *plan) ownVictim(now time.Time, class Class) *call {
	for worse := Class(NumClasses) - 1; worse > class; worse-- {
		if l := p.member.lanes[worse]; l != nil && l.flow.Len() > 0 {
			return l.last(now)
		}
	}
	if l := p.lane; l.flow.Len() > 0 && l.newestFirst(now) {
		return l.last(now)
	}
	return nil
}

// makeRoom picks victims until enough(their number, their bytes).
func (p *plan) makeRoom(now time.Time, class Class, enough func(int, int64) bool) bool {
	var freed int64
	for worst := Class(NumClasses) - 1; ; worst-- {
		if q := p.pool.queues[worst]; q.Len() > 0 {
			fat := q.Fattest()
			l := fat.Oldest().Value.lane
			if worst == class {
				mine := p.lane.flow
				fatter := (mine.Work()+int64(p.est.Raw))*fat.Weight < fat.Work()*mine.Weight
				if !fatter && !(l == p.lane && l.newestFirst(now)) {
					return false
				}
			}
			oldest := l.newestFirst(now)
			it := fat.Newest()
			if oldest {
				it = fat.Oldest()
			}
			for it != nil && !enough(len(p.victims), freed) {
				p.victims = append(p.victims, it.Value)
				freed += it.Bytes
				if oldest {
					it = it.Newer()
				} else {
					it = it.Older()
				}
			}
			return enough(len(p.victims), freed)
		}
		if worst == class {
			return false
		}
	}
}

// newestFirst says whether the lane serves its newest request first now.
func (l *lane) newestFirst(now time.Time) bool {
	switch l.member.pool.policy.Queue.Order {
	case FIFO:
		return false
	case LIFO:
		return true
	default:
		return l.flow.NewestFirst(now)
	}
}

// next is the waiting request that the lane serves next: the one that must
// start first, which among equal deadlines is the oldest.
func (l *lane) next(now time.Time) *call {
	switch {
	case l.newestFirst(now):
		return l.flow.Newest().Value
	case l.member.pool.policy.Queue.Order == FIFO:
		return l.flow.Oldest().Value
	default:
		return l.flow.Due().Value
	}
}

// last is the waiting request that is evicted first: the one that came last,
// unless those are served first.
func (l *lane) last(now time.Time) *call {
	if l.newestFirst(now) {
		return l.flow.Oldest().Value
	}
	return l.flow.Newest().Value
}
