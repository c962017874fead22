// Package top shows what a running gateway is doing, in a terminal: a screen
// that follows the live picture, or the same once as text.
package top

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/spillway-llm/spillway/internal/gateway"
	"github.com/spillway-llm/spillway/internal/operator"
	"github.com/spillway-llm/spillway/internal/ops"
)

const (
	lastRefusals  = 50
	refusalsEvery = 2 * time.Second
)

// Screen follows one gateway in a terminal.
type Screen struct {
	Gateway *operator.Client
	// Explain writes an explanation as the command for it does.
	Explain func(io.Writer, *ops.Explanation) error
	In      io.Reader // keys
	Out     io.Writer // the terminal
	options []tea.ProgramOption
}

// Run shows the screen until somebody quits or ctx is done. What is wrong with
// the address or the token is an error before anything is drawn; later it is
// said on the screen, and the gateway is asked again.
func (s *Screen) Run(ctx context.Context) error {
	first, _, err := s.Gateway.Snapshot(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	shown := &model{ctx: ctx, screen: s, state: newState(s.Gateway.Address(), time.Now(), first)}
	if history, err := s.Gateway.History(ctx, maxSeconds); err == nil { // without it the curves begin now
		shown.state.seconds = history
	}
	program := tea.NewProgram(shown, append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(s.Out), tea.WithoutSignalHandler()}, s.options...)...)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		s.Gateway.Follow(ctx, watcher{program})
	}()
	_, err = program.Run()
	ended := ctx.Err() != nil
	cancel()
	<-followed
	if err != nil && !ended {
		return fmt.Errorf("show the screen: %w; spillway top --once prints the picture as text", err)
	}
	return nil
}

// What happens to a screen beside keys.
type (
	pictured struct {
		at      time.Time
		picture *gateway.Picture
	}
	lost struct {
		at    time.Time
		why   error
		again time.Duration
	}
	heardRefusals struct {
		list []ops.Refused
		err  error
	}
	askRefusals struct{}
	explained   struct{ id, text string }
	ticked      time.Time
)

// watcher passes on what Follow tells it.
type watcher struct{ program *tea.Program }

func (w watcher) Picture(p *gateway.Picture) { w.program.Send(pictured{time.Now(), p}) }

func (w watcher) Lost(why error, again time.Duration) { w.program.Send(lost{time.Now(), why, again}) }

// model is the state as the terminal library runs it, in one goroutine.
type model struct {
	ctx           context.Context
	screen        *Screen
	state         *state
	width, height int
}

func (m *model) Init() tea.Cmd { return tea.Batch(m.askRefusals, tick()) }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		switch m.state.press(msg.Keystroke(), msg.Text, m.width, m.height) {
		case leave:
			return m, tea.Quit
		case explain:
			id := m.state.chosen()
			m.state.page = &page{title: "Why was " + id + " refused?", lines: []string{"asking the gateway …"}}
			return m, func() tea.Msg { return m.explain(id) }
		}
	case pictured:
		m.state.show(msg.at, msg.picture)
	case lost:
		m.state.lose(msg.at, msg.why, msg.again)
	case heardRefusals:
		m.state.hear(msg.list, msg.err)
		return m, tea.Tick(refusalsEvery, func(time.Time) tea.Msg { return askRefusals{} })
	case askRefusals:
		return m, m.askRefusals
	case explained:
		if p := m.state.page; p != nil && strings.Contains(p.title, msg.id) {
			p.lines = strings.Split(strings.TrimSpace(msg.text), "\n")
		}
	case ticked:
		m.state.now = time.Time(msg)
		return m, tick()
	}
	return m, nil
}

func (m *model) View() tea.View {
	v := tea.NewView("")
	if m.width > 0 {
		v.SetContent(draw(m.state, m.width, m.height))
	}
	v.AltScreen = true
	v.WindowTitle = "spillway top"
	return v
}

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return ticked(t) }) }

func (m *model) askRefusals() tea.Msg {
	list, err := m.screen.Gateway.Refusals(m.ctx, lastRefusals)
	return heardRefusals{list, err}
}

func (m *model) explain(id string) explained {
	e, _, err := m.screen.Gateway.Explain(m.ctx, &ops.Ask{RequestID: id})
	var text bytes.Buffer
	if err == nil {
		err = m.screen.Explain(&text, e)
	}
	if err != nil {
		return explained{id, err.Error()}
	}
	return explained{id, text.String()}
}
