package lineedit

import (
	"context"
	"errors"
	"io"
)

// ErrInterrupted is returned by Read when Ctrl-C was pressed.
var ErrInterrupted = errors.New("interrupted")

// Config is what an Editor works with. In and Out are needed.
type Config struct {
	In  io.Reader // bytes as a terminal in raw mode sends them
	Out io.Writer // a terminal that knows ANSI sequences
	// Size is the number of columns and rows of the terminal; 80 and 24 when nil
	// or when it does not know.
	Size func() (columns, rows int)
	// Raw puts the terminal into raw mode and returns what takes that back. It is
	// called by each Read; nil where In is none.
	Raw func() (restore func() error, err error)
	// Ready tells whether Enter ends the text; it goes on in a new line if not.
	// Every text is ready when nil.
	Ready func(text string) bool
	// Candidates are what the word before cursor (a byte of text) can become. They
	// replace text[from:cursor].
	Candidates func(ctx context.Context, text string, cursor int) (from int, candidates []string)
}

// Editor reads texts from one terminal. Not safe for concurrent use.
type Editor struct {
	cfg   Config
	input input
	shown shown

	buffer
	history history
	menu    *menu
	prompts prompts
}

// prompts stand before the first line of a text and before the others.
type prompts struct{ first, more string }

// New makes an Editor. Nothing is read before the first Read.
func New(cfg Config) *Editor {
	if cfg.Ready == nil {
		cfg.Ready = func(string) bool { return true }
	}
	return &Editor{cfg: cfg, input: input{r: cfg.In}}
}

// Close ends the reading of In as soon as the read at work returns.
func (e *Editor) Close() { e.input.close() }

// Remember adds a text to the end of the history.
func (e *Editor) Remember(text string) { e.history.add(text) }

// Read shows the prompt and returns the text that was typed, without the line end
// that closed it. more stands before its further lines. It returns ErrInterrupted
// on Ctrl-C, io.EOF on Ctrl-D in an empty text and when In ends, and ctx's error.
func (e *Editor) Read(ctx context.Context, prompt, more string) (text string, err error) {
	if e.cfg.Raw != nil {
		restore, err := e.cfg.Raw()
		if err != nil {
			return "", err
		}
		defer func() {
			if restoreErr := restore(); err == nil {
				err = restoreErr
			}
		}()
	}
	e.buffer, e.menu, e.shown = buffer{killed: e.killed}, nil, shown{}
	e.prompts = prompts{prompt, more}
	e.history.rewind()
	if err := e.write(pasteOn); err != nil {
		return "", err
	}
	for {
		// While more keys are here already, drawing what they are about to change is idle.
		if !e.input.waiting() {
			if err := e.draw(); err != nil {
				return "", err
			}
		}
		k, err := e.input.key(ctx)
		done := false
		if err == nil {
			done, err = e.press(ctx, k)
		}
		if err == nil && !done {
			continue
		}
		if drawErr := e.leave(err); err == nil {
			err = drawErr
		}
		if err != nil {
			return "", err
		}
		return string(e.text), nil
	}
}

// press carries out one key. done tells that the text is to be returned.
func (e *Editor) press(ctx context.Context, k key) (done bool, err error) {
	if k != keyTab && k != keyBackTab {
		e.menu = nil
	}
	switch k {
	case keyEnter, keyNewline:
		if e.cfg.Ready(string(e.text)) {
			return true, nil
		}
		e.insert("\n")
	case keyAlt + keyEnter, keyAlt + keyNewline:
		e.insert("\n")
	case keyInterrupt:
		return false, ErrInterrupted
	case keyEnd:
		if len(e.text) == 0 {
			return false, io.EOF
		}
		e.deleteRight()
	case keyTab:
		e.complete(ctx, 1)
	case keyBackTab:
		e.complete(ctx, -1)
	case keySearch:
		return e.search(ctx)
	case keyClear:
		e.shown = shown{}
		return false, e.write(clearScreen)
	case keyPaste:
		pasted, err := e.input.pasted(ctx)
		if err != nil {
			return false, err
		}
		e.insert(pasted)
	case keyUp, keyPrevious:
		if k == keyPrevious || !e.lineUp() {
			e.older()
		}
	case keyDown, keyNext:
		if k == keyNext || !e.lineDown() {
			e.newer()
		}
	default:
		e.edit(k)
	}
	return false, nil
}

// older and newer walk through the history; what was being typed stands at its end.
func (e *Editor) older() {
	if t, ok := e.history.older(string(e.text)); ok {
		e.replace(t)
	}
}

func (e *Editor) newer() {
	if t, ok := e.history.newer(string(e.text)); ok {
		e.replace(t)
	}
}
