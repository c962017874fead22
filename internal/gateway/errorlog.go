package gateway

import (
	"log"
	"log/slog"
)

// errorLog is where net/http tells of broken connections.
func (g *Gateway) errorLog() *log.Logger {
	return slog.NewLogLogger(g.log.Slog().Handler(), slog.LevelDebug)
}
