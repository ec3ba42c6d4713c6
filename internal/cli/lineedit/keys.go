package lineedit

import (
	"context"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// key is a character, or one of the constants below.
type key rune

// Keys that send a control character.
const (
	keyLineStart  key = 'A' & 0x1f
	keyCharLeft   key = 'B' & 0x1f
	keyInterrupt  key = 'C' & 0x1f
	keyEnd        key = 'D' & 0x1f // end of input, or delete
	keyLineEnd    key = 'E' & 0x1f
	keyCharRight  key = 'F' & 0x1f
	keyCancel     key = 'G' & 0x1f
	keyBackspace2 key = 'H' & 0x1f
	keyTab        key = '\t'
	keyNewline    key = '\n'
	keyKill       key = 'K' & 0x1f
	keyClear      key = 'L' & 0x1f
	keyEnter      key = '\r'
	keyNext       key = 'N' & 0x1f
	keyPrevious   key = 'P' & 0x1f
	keySearch     key = 'R' & 0x1f
	keySwap       key = 'T' & 0x1f
	keyKillLeft   key = 'U' & 0x1f
	keyKillWord   key = 'W' & 0x1f
	keyYank       key = 'Y' & 0x1f
	keyUndo       key = 0x1f // Ctrl-_ and Ctrl-/
	keyBackspace  key = 0x7f
)

// Keys that send a sequence.
const (
	keyNone key = unicode.MaxRune + 1 + iota // one that has no meaning here
	keyUp
	keyDown
	keyLeft
	keyRight
	keyWordLeft
	keyWordRight
	keyHome
	keyFinish // the key End
	keyDelete
	keyBackTab
	keyPaste // a paste follows
	// keyAlt is added to the key that Alt was held with.
	keyAlt key = 1 << 24
)

const (
	escape    = 0x1b
	pasteOver = "\x1b[201~"
	maxPaste  = 16 << 20
)

// input reads keys. A goroutine does the reading, so that the end of a context
// does not have to wait for a key; it reads when asked, and so never takes what
// is meant for another program.
type input struct {
	r       io.Reader
	ask     chan struct{}
	got     chan chunk
	asked   bool // and nothing came yet
	pending []byte
	err     error // comes after pending
}

type chunk struct {
	data []byte
	err  error
}

func (in *input) start() {
	in.ask, in.got = make(chan struct{}), make(chan chunk, 1)
	go func(ask <-chan struct{}, got chan<- chunk) {
		for range ask {
			buf := make([]byte, 4096)
			n, err := in.r.Read(buf)
			got <- chunk{buf[:n], err}
		}
	}(in.ask, in.got)
}

func (in *input) close() {
	if in.ask != nil {
		close(in.ask)
		in.ask = nil
	}
}

// waiting tells that a key can be had without waiting.
func (in *input) waiting() bool { return len(in.pending) > 0 }

func (in *input) next(ctx context.Context) (byte, error) {
	for len(in.pending) == 0 {
		if in.err != nil {
			return 0, in.err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if in.ask == nil {
			in.start()
		}
		if !in.asked {
			in.ask <- struct{}{}
			in.asked = true
		}
		select {
		case c := <-in.got:
			in.asked, in.pending, in.err = false, c.data, c.err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	b := in.pending[0]
	in.pending = in.pending[1:]
	return b, nil
}

// key reads the next key.
func (in *input) key(ctx context.Context) (key, error) {
	b, err := in.next(ctx)
	if err != nil || b != escape {
		return in.character(ctx, b, err)
	}
	// A bare Escape waits for the key after it, as it does in any shell that
	// takes Escape for Alt.
	if b, err = in.next(ctx); err != nil {
		return 0, err
	}
	switch b {
	case '[', 'O':
		return in.sequence(ctx)
	case escape:
		return keyNone, nil
	}
	k, err := in.character(ctx, b, nil)
	return keyAlt + k, err
}

// character completes the character that begins with b.
func (in *input) character(ctx context.Context, b byte, err error) (key, error) {
	if err != nil || b < utf8.RuneSelf {
		return key(b), err
	}
	buf := []byte{b}
	for !utf8.FullRune(buf) {
		if b, err = in.next(ctx); err != nil {
			return 0, err
		}
		buf = append(buf, b)
	}
	r, size := utf8.DecodeRune(buf)
	if r == utf8.RuneError { // not UTF-8: leave out what cannot be shown
		in.pending = append(buf[max(size, 1):len(buf):len(buf)], in.pending...)
		return keyNone, nil
	}
	return key(r), nil
}

// sequence reads what follows ESC [ or ESC O, up to the letter or ~ that ends it.
func (in *input) sequence(ctx context.Context) (key, error) {
	var parameters []byte
	for {
		b, err := in.next(ctx)
		if err != nil {
			return 0, err
		}
		if b < 0x40 || b > 0x7e {
			if len(parameters) < 16 {
				parameters = append(parameters, b)
			}
			continue
		}
		number, modifier, _ := strings.Cut(string(parameters), ";")
		if b == '~' {
			return numberedKey(number), nil
		}
		return letterKey(b, modifier != ""), nil
	}
}

// letterKey is the key of ESC [ letter; with a modifier arrows go by words.
func letterKey(letter byte, modified bool) key {
	switch letter {
	case 'A':
		return keyUp
	case 'B':
		return keyDown
	case 'C':
		if modified {
			return keyWordRight
		}
		return keyRight
	case 'D':
		if modified {
			return keyWordLeft
		}
		return keyLeft
	case 'H':
		return keyHome
	case 'F':
		return keyFinish
	case 'Z':
		return keyBackTab
	}
	return keyNone
}

func numberedKey(number string) key {
	switch number {
	case "1", "7":
		return keyHome
	case "4", "8":
		return keyFinish
	case "3":
		return keyDelete
	case "200":
		return keyPaste
	}
	return keyNone
}

// pasted reads a paste to its end. Line ends become \n, other control characters
// but tabs are left out.
func (in *input) pasted(ctx context.Context) (string, error) {
	var b strings.Builder
	for !strings.HasSuffix(b.String(), pasteOver) {
		c, err := in.next(ctx)
		if err != nil {
			return "", err
		}
		b.WriteByte(c)
		if b.Len() > maxPaste {
			break
		}
	}
	text := strings.ToValidUTF8(strings.TrimSuffix(b.String(), pasteOver), "")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text), nil
}
