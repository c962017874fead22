package predict

// Memory of the fit, in samples: enough to tell two slopes from noise, short
// enough to follow a new version of a model within minutes.
const fitMemory = 200

// fit is an online least-squares plane y = a + b·in + d·out that forgets
// exponentially and is drawn towards prior slopes (ridge). It keeps centred
// moments, so the mean is right from the first sample, whatever the slopes.
// Slopes are never negative.
type fit struct {
	n                float64
	in, out, y       float64 // means
	ii, io, oo       float64 // centred sums
	iy, oy           float64
	bPrior, dPrior   float64
	b, d             float64
	ridgeIn, ridgeOu float64
}

func newFit(in, out, y, b, d float64) fit {
	// The prior slopes weigh as much as 20 samples that spread by a quarter
	// of the prior lengths.
	spread := func(x float64) float64 { return 20*x*x/16 + 1 }
	return fit{n: 1, in: in, out: out, y: y, bPrior: b, dPrior: d, b: b, d: d, ridgeIn: spread(in), ridgeOu: spread(out)}
}

func (f *fit) add(in, out, y float64) {
	const keep = 1 - 1.0/fitMemory
	f.n = f.n*keep + 1
	di, do, dy := in-f.in, out-f.out, y-f.y
	f.in += di / f.n
	f.out += do / f.n
	f.y += dy / f.n
	ri, ro := in-f.in, out-f.out
	f.ii = f.ii*keep + di*ri
	f.io = f.io*keep + di*ro
	f.oo = f.oo*keep + do*ro
	f.iy = f.iy*keep + dy*ri
	f.oy = f.oy*keep + dy*ro
	f.solve()
}

// solve finds the slopes of (C + R)·β = c + R·prior.
func (f *fit) solve() {
	ii, oo, io := f.ii+f.ridgeIn, f.oo+f.ridgeOu, f.io
	iy, oy := f.iy+f.ridgeIn*f.bPrior, f.oy+f.ridgeOu*f.dPrior
	det := ii*oo - io*io // > 0: the ridge keeps it so
	f.b = (oo*iy - io*oy) / det
	f.d = (ii*oy - io*iy) / det
	if f.b < 0 {
		f.b, f.d = 0, oy/oo
	}
	if f.d < 0 {
		f.b, f.d = max(iy/ii, 0), 0
	}
}

// at is the plane's value, never below a twentieth of the mean.
func (f *fit) at(in, out float64) float64 {
	return max(f.y+f.b*(in-f.in)+f.d*(out-f.out), f.y/20)
}
