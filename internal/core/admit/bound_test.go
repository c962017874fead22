package admit

import (
	"testing"
	"time"
)

// TestQueueBytes pushes twenty of 100 KB into a queue of 1 MB (B162).
func TestQueueBytes(t *testing.T) {
	const kb = 1000
	p := exact(onePool(1, Tenant{Name: "a"}))
	p.Models[0].Queue.Bytes = 1000 * kb
	d := newDesk(t, p)
	far := Request{Bytes: 100 * kb, Deadline: after(time.Hour)}
	p.Classes[Interactive].MaxWait = time.Hour
	d.offer(0, far) // runs, and holds nothing in the queue
	accepted := 0
	for range 20 {
		if got := d.offer(0, far); got.Verdict == Queue {
			accepted++
		} else {
			d.is(got, Reject, StageBound)
		}
	}
	held := func() int64 { return d.c.Snapshot(t0).Pools[0].Bytes }
	if accepted != 10 || held() != 1000*kb {
		t.Fatalf("%d accepted holding %d, want 10", accepted, held())
	}
	d.good(time.Second, 1) // one leaves by dispatch
	d.cancel(time.Second, 3)
	if held() != 800*kb {
		t.Fatalf("%d held, want 800 KB", held())
	}
	for d.c.Waiting() > 0 { // the rest expires
		d.tick(d.c.Next().Sub(t0))
	}
	if held() != 0 {
		t.Fatalf("%d held by an empty queue", held())
	}
}

// TestEviction: who gives way to whom in a full queue.
func TestEviction(t *testing.T) {
	type ask struct {
		tenant string
		class  Class
		bytes  int64
	}
	for _, tt := range []struct {
		name                    string
		perTenant, total, bytes int
		waiting                 []ask // IDs from 2
		offer                   ask
		victims                 []ID // none: refused
		refused                 bool
	}{
		{name: "fattest tenant of the same class, its newest", total: 4,
			waiting: []ask{{"a", Standard, 1}, {"a", Standard, 1}, {"a", Standard, 1}, {"b", Standard, 1}}, offer: ask{"b", Standard, 1}, victims: []ID{4}},
		{name: "not for an equally fat one", total: 4,
			waiting: []ask{{"a", Standard, 1}, {"a", Standard, 1}, {"b", Standard, 1}, {"b", Standard, 1}}, offer: ask{"b", Standard, 1}, refused: true},
		{name: "not where both would be equal after", total: 3,
			waiting: []ask{{"a", Standard, 1}, {"a", Standard, 1}, {"b", Standard, 1}}, offer: ask{"b", Standard, 1}, refused: true},
		{name: "a better class displaces the worst, whatever the shares", total: 3,
			waiting: []ask{{"a", Standard, 1}, {"b", Batch, 1}, {"a", Standard, 1}}, offer: ask{"a", Interactive, 1}, victims: []ID{3}},
		{name: "a worse class displaces nobody", total: 2,
			waiting: []ask{{"a", Standard, 1}, {"a", Standard, 1}}, offer: ask{"b", Batch, 1}, refused: true},
		{name: "the tenant's own worse class", perTenant: 2,
			waiting: []ask{{"a", Batch, 1}, {"a", Standard, 1}, {"b", Batch, 1}}, offer: ask{"a", Interactive, 1}, victims: []ID{2}},
		{name: "not its own equal", perTenant: 2,
			waiting: []ask{{"a", Standard, 1}, {"a", Standard, 1}}, offer: ask{"a", Standard, 1}, refused: true},
		{name: "as many as the bytes need", bytes: 100,
			waiting: []ask{{"a", Batch, 30}, {"a", Batch, 30}, {"a", Batch, 30}}, offer: ask{"b", Standard, 60}, victims: []ID{4, 3}},
		{name: "none if all of them are not enough", bytes: 100,
			waiting: []ask{{"a", Batch, 30}, {"b", Standard, 60}}, offer: ask{"b", Standard, 50}, refused: true},
		{name: "its own worse class, but too large for the queue all the same", perTenant: 1, bytes: 100,
			waiting: []ask{{"a", Batch, 10}}, offer: ask{"a", Interactive, 101}, refused: true},
		{name: "its own worse class, but the bytes do not fit", perTenant: 1, bytes: 100,
			waiting: []ask{{"a", Batch, 10}, {"b", Interactive, 60}}, offer: ask{"a", Interactive, 50}, refused: true},
		{name: "a place is free then, but the bytes need another", total: 2, bytes: 100,
			waiting: []ask{{"a", Batch, 40}, {"a", Batch, 40}}, offer: ask{"b", Interactive, 70}, victims: []ID{3, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := exact(onePool(1, Tenant{Name: "a"}, Tenant{Name: "b"}))
			p.Models[0].Queue.PerTenant, p.Models[0].Queue.Total, p.Models[0].Queue.Bytes = tt.perTenant, tt.total, int64(tt.bytes)
			d := newDesk(t, p)
			d.offer(0, Request{})
			for _, a := range tt.waiting {
				d.is(d.offer(0, Request{Tenant: a.tenant, Class: a.class, Bytes: a.bytes, Deadline: after(time.Minute)}), Queue, StageQueue)
			}
			got := d.offer(0, Request{Tenant: tt.offer.tenant, Class: tt.offer.class, Bytes: tt.offer.bytes, Deadline: after(time.Minute)})
			if tt.refused {
				d.is(got, Reject, StageBound)
				return
			}
			d.is(got, Queue, StageQueue)
			if len(d.rest) != len(tt.victims) {
				t.Fatalf("evicted %+v, want %v", d.rest, tt.victims)
			}
			for i, v := range d.rest {
				d.is(v, Reject, StageEvicted)
				if v.ID != tt.victims[i] || v.RetryAfter <= 0 {
					t.Errorf("evicted %+v, want %d", v, tt.victims[i])
				}
			}
		})
	}
}

// TestFullQueueOrder: in a full queue LIFO sheds the oldest, which is the
// least likely to make it, and FIFO refuses the new one (B171).
func TestFullQueueOrder(t *testing.T) {
	for order, shed := range map[Order]ID{FIFO: 0, LIFO: 2, Adaptive: 0} {
		t.Run(order.String(), func(t *testing.T) {
			p := exact(onePool(1, Tenant{Name: "a"}))
			p.Models[0].Queue.Total, p.Models[0].Queue.Order = 3, order
			d := newDesk(t, p)
			d.fill(0, 4, Request{Deadline: after(time.Minute)}) // 1 runs; 2, 3 and 4 wait
			got := d.offer(0, Request{Deadline: after(time.Minute)})
			if shed == 0 {
				d.is(got, Reject, StageBound)
				d.only(d.good(time.Second, 1), 2, Run, StageDispatch)
				return
			}
			d.is(got, Queue, StageQueue)
			d.only(d.rest, shed, Reject, StageEvicted)
			d.only(d.good(time.Second, 1), 5, Run, StageDispatch)
		})
	}
}

// TestStandingQueue: where more die waiting than are served, an adaptive
// queue serves the newest first, and returns to the oldest when it is over.
func TestStandingQueue(t *testing.T) {
	p := exact(onePool(1, Tenant{Name: "a"}))
	p.Observe = true // nothing is refused by prediction: the queue may stand
	d := newDesk(t, p)
	const s = time.Second
	at := time.Duration(0)
	running := ID(1)
	d.offer(0, Request{})
	newestFirst := false
	for range 400 { // four a second where one a second is served
		at += s / 4
		d.offer(at, Request{Deadline: after(at + 4*s)})
		d.tick(at)
		if at%s == 0 {
			for _, x := range d.good(at, running) {
				if x.Verdict == Run {
					running = x.ID
					if x.Wait < s {
						newestFirst = true
					}
				}
			}
		}
	}
	if !newestFirst {
		t.Error("the queue stood for a hundred seconds and the oldest went first all the time")
	}
	for d.c.Running() > 0 { // the crowd goes home
		at += s
		d.tick(at)
		d.good(at, running)
		for id := range d.ledger.open {
			if k := d.c.calls[id]; k != nil && k.running {
				running = id
			}
		}
	}
	at += 60 * s
	d.offer(at, Request{})
	first := d.last
	d.fill(at, 2, Request{})
	d.only(d.good(at+s, first), first+1, Run, StageDispatch) // the oldest again
}
