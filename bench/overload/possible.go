package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"time"
)

// sampleTime is the grain in which arrivals are counted for possible.
const sampleTime = 250 * time.Millisecond

// slowness is by how much the upstream is slower at a time of the run.
type slowness func(at time.Duration) float64

func fullSpeed(time.Duration) float64 { return 1 }

// slowed is a slowness of factor from a time until another.
func slowed(factor float64, from, to time.Duration) slowness {
	return func(at time.Duration) float64 {
		if at >= from && at < to {
			return factor
		}
		return 1
	}
}

// possible is the share of its slot time that the upstream could at best spend
// on answers in time, given when requests came.
//
// It is a fluid: each request is serviceMean of slot time at full speed. The
// upstream works at up to slots at once as long as there is work, and takes
// over only as much as it can still finish before the deadline at the speed it
// has. arrivals counts requests by grain. What a real queue loses because
// requests are whole, and because nobody knows the future, is not taken off.
func possible(arrivals []int, grain time.Duration, slow slowness) float64 {
	var work, busy float64 // seconds at full speed; slot seconds
	for i, n := range arrivals {
		f := slow(time.Duration(i) * grain)
		work += float64(n) * serviceMean.Seconds()
		done := min(work, slots/f*grain.Seconds())
		busy += done * f
		work = min(work-done, slots/f*deadline.Seconds())
	}
	return busy / (slots * grain.Seconds() * float64(len(arrivals)))
}

// arrivals reads how many callers came in each sample of a load, and not those
// after its end.
func arrivals(file string, length time.Duration) ([]int, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil || len(rows) < 2 {
		return nil, fmt.Errorf("read the samples of the load: %v", err)
	}
	counts := make([]int, length/sampleTime)
	for _, row := range rows[1:] {
		t, terr := strconv.ParseFloat(row[0], 64)
		n, nerr := strconv.Atoi(row[1])
		if terr != nil || nerr != nil {
			return nil, fmt.Errorf("read the samples of the load: %v: %v %v", row, terr, nerr)
		}
		// A sample tells what came since the one before.
		i := int((t - sampleTime.Seconds()/2) / sampleTime.Seconds())
		counts[min(max(0, i), len(counts)-1)] += n
	}
	return counts, nil
}
