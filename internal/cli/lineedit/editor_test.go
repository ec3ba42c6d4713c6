package lineedit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

var names = map[string]string{
	"enter": "\r", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1bOF",
	"word-left": "\x1b[1;5D", "word-right": "\x1b[1;5C", "delete": "\x1b[3~", "backspace": "\x7f", "tab": "\t", "back-tab": "\x1b[Z",
	"paste": "\x1b[200~", "pasted": "\x1b[201~", "alt-enter": "\x1b\r", "alt-b": "\x1bb", "alt-d": "\x1bd", "alt-backspace": "\x1b\x7f",
	"page-up": "\x1b[5~", "undo": "\x1f", "cr-lf": "\r\n", "bell": "\a", "broken": "\xc3(",
}

// typist hands out keys as they are written in a test: text, and names in <>.
// <ctrl-x> is a control character; <show> prints the screen when all keys before
// it were handled.
type typist struct {
	script string
	out    *strings.Builder
	screen *screen
}

func (y *typist) Read(p []byte) (int, error) {
	for y.script != "" {
		text, rest, named := strings.Cut(y.script, "<")
		if text != "" {
			n := copy(p, text)
			y.script = y.script[n:]
			return n, nil
		}
		if !named {
			break
		}
		name, rest, _ := strings.Cut(rest, ">")
		y.script = rest
		switch {
		case name == "show":
			y.out.WriteString(y.screen.String() + "--\n")
		case strings.HasPrefix(name, "ctrl-"):
			p[0] = name[len("ctrl-")] & 0x1f
			return 1, nil
		case strings.HasPrefix(name, "columns="):
			if _, err := fmt.Sscanf(name, "columns=%d", &y.screen.columns); err != nil {
				y.screen.t.Error(err)
			}
		case names[name] != "":
			return copy(p, names[name]), nil
		default:
			y.screen.t.Errorf("no key <%s>", name)
		}
	}
	return 0, io.EOF
}

var words = []string{"orders", "order_lines", "ORDER", "status", "SELECT", "naïve", "naïf"}

func candidates(_ context.Context, text string, cursor int) (int, []string) {
	from := strings.LastIndexAny(text[:cursor], " \n") + 1
	var out []string
	for _, w := range words {
		if len(w) >= cursor-from && strings.EqualFold(w[:cursor-from], text[from:cursor]) {
			out = append(out, w)
		}
	}
	return from, out
}

func TestEditor(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			columns, rows, restored := 40, 12, 0
			d.MaybeScanArgs(t, "columns", &columns)
			d.MaybeScanArgs(t, "rows", &rows)
			s := newScreen(t, columns, rows)
			out := &strings.Builder{}
			e := New(Config{
				In: &typist{strings.ReplaceAll(d.Input, "\n", ""), out, s}, Out: s,
				Size:       func() (int, int) { return s.columns, s.most },
				Raw:        func() (func() error, error) { restored--; return func() error { restored++; return nil }, nil },
				Ready:      func(text string) bool { return strings.HasSuffix(text, ";") },
				Candidates: candidates,
			})
			defer e.Close()
			for {
				text, err := e.Read(context.Background(), "tarn> ", "    > ")
				switch {
				case errors.Is(err, ErrInterrupted):
					out.WriteString("interrupted\n")
				case err == io.EOF:
					if restored != 0 {
						t.Errorf("%s: the terminal was not put back", d.Pos)
					}
					return out.String() + s.String()
				case err != nil:
					t.Fatal(err)
				default:
					out.WriteString("read: " + strings.ReplaceAll(text, "\n", "⏎") + "\n")
					e.Remember(text)
				}
			}
		})
	})
}

// TestReadEndsWithContext: a reader that never returns holds nobody up, and what
// it brings later belongs to the next Read.
func TestReadEndsWithContext(t *testing.T) {
	in, keys := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	s := newScreen(t, 40, 12)
	e := New(Config{In: in, Out: writerFunc(func(p []byte) (int, error) {
		n, err := s.Write(p)
		if strings.Contains(s.String(), "ab") { // both keys are shown, and the next is waited for
			cancel()
		}
		return n, err
	})})
	defer e.Close()
	go func() {
		if _, err := keys.Write([]byte("ab")); err != nil {
			t.Error(err)
		}
	}()
	if _, err := e.Read(ctx, "> ", "> "); !errors.Is(err, context.Canceled) {
		t.Fatalf("Read after cancel: %v", err)
	}
	go func() {
		if _, err := keys.Write([]byte("cd\r")); err != nil {
			t.Error(err)
		}
	}()
	text, err := e.Read(context.Background(), "> ", "> ")
	if err != nil || text != "cd" {
		t.Errorf("Read after that: %q, %v", text, err)
	}
	keys.Close()
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestOutputFails(t *testing.T) {
	in, out := io.Pipe()
	in.Close()
	e := New(Config{In: strings.NewReader("a\r"), Out: out})
	defer e.Close()
	if _, err := e.Read(context.Background(), "> ", "> "); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a terminal that is gone: %v", err)
	}
}

// TestTextIsBounded: killing and yanking doubles a text, up to an end; what does
// not fit is left out as a whole, and what can be undone is bounded, too.
func TestTextIsBounded(t *testing.T) {
	var b buffer
	b.insert("0123456789")
	for range 40 {
		b.kill(0, len(b.text))
		b.edit(keyYank)
		b.edit(keyYank)
	}
	if n := len(b.text); n > maxText || n < maxText/4 || n%10 != 0 {
		t.Errorf("%d characters", n)
	}
	size := 0
	for _, v := range b.undone {
		size += len(v.text)
	}
	if size > maxUndoText {
		t.Errorf("%d characters to undo", size)
	}
	b.replace(strings.Repeat("x", maxText))
	b.edit('y')
	if len(b.text) != maxText {
		t.Errorf("%d characters", len(b.text))
	}
}

// FuzzKeys: whatever comes, Read ends with a text or an error, and the screen
// shows no sequence that it does not know.
func FuzzKeys(f *testing.F) {
	for _, n := range names {
		f.Add("ab;"+n+"\t\tc;\r"+n+"x\x12b\x12\r", uint8(9))
	}
	f.Fuzz(func(t *testing.T, keys string, columns uint8) {
		keys = keys[:min(len(keys), 60)] // few enough that a text that is doubled again and again stays short
		s := newScreen(t, 2+int(columns), 5)
		e := New(Config{
			In: strings.NewReader(keys), Out: s, Size: func() (int, int) { return s.columns, s.most },
			Ready: func(text string) bool { return strings.HasSuffix(text, ";") }, Candidates: candidates,
		})
		defer e.Close()
		for {
			text, err := e.Read(context.Background(), "tarn> ", "    > ")
			if err != nil && !errors.Is(err, ErrInterrupted) {
				return
			}
			e.Remember(text)
		}
	})
}
