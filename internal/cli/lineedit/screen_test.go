package lineedit

import (
	"strings"
	"sync"
	"testing"

	width "github.com/jedib0t/go-pretty/v6/text"
)

// screen is a terminal that knows what an Editor sends, and nothing else.
type screen struct {
	t             *testing.T
	mu            sync.Mutex
	columns, most int
	rows          [][]rune
	row, column   int // column may be columns: the next character wraps
	unread        string
}

func newScreen(t *testing.T, columns, rows int) *screen {
	return &screen{t: t, columns: columns, most: rows, rows: make([][]rune, 1)}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread += string(p)
	for s.unread != "" {
		n := s.step(s.unread)
		if n == 0 {
			break
		}
		s.unread = s.unread[n:]
	}
	return len(p), nil
}

func (s *screen) step(in string) int {
	switch in[0] {
	case '\r':
		s.column = 0
		return 1
	case '\n':
		s.down()
		return 1
	case 0x1b:
		return s.sequence(in)
	}
	r := []rune(in)[0]
	w := width.RuneWidth(r)
	if w == 0 { // it stands on the character before
		return len(string(r))
	}
	if s.column+w > s.columns {
		s.column = 0
		s.down()
	}
	line := s.rows[s.row]
	for len(line) < s.column+w {
		line = append(line, ' ')
	}
	line[s.column] = r
	if w == 2 {
		line[s.column+1] = -1
	}
	s.rows[s.row] = line
	s.column += w
	return len(string(r))
}

// down goes to the row below; at the bottom the screen scrolls.
func (s *screen) down() {
	s.row++
	if s.row == len(s.rows) {
		s.rows = append(s.rows, nil)
	}
	if len(s.rows) > s.most {
		s.rows = s.rows[1:]
		s.row--
	}
}

func (s *screen) sequence(in string) int {
	end := strings.IndexFunc(in[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
	if len(in) < 3 || end < 0 {
		return 0
	}
	n := 0
	for _, c := range in[2 : 2+end] {
		if c >= '0' && c <= '9' {
			n = n*10 + int(c-'0')
		}
	}
	switch letter := in[2+end]; letter {
	case 'A':
		s.row = max(0, s.row-max(n, 1))
	case 'C':
		s.column = min(s.columns-1, s.column+max(n, 1))
	case 'J':
		if n == 2 {
			s.rows, s.row = make([][]rune, 1), 0
			break
		}
		s.rows = s.rows[:s.row+1]
		if len(s.rows[s.row]) > s.column {
			s.rows[s.row] = s.rows[s.row][:s.column]
		}
	case 'H':
		s.row, s.column = 0, 0
	case 'h', 'l', 'm':
	default:
		s.t.Errorf("a sequence that the screen does not know: %q", in[:3+end])
	}
	return 3 + end
}

// String is the screen with the cursor as ▮.
func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for y, line := range s.rows {
		line = append([]rune(nil), line...)
		if y == s.row {
			for len(line) <= s.column {
				line = append(line, ' ')
			}
			line[s.column] = '▮'
		}
		for _, r := range line {
			if r >= 0 {
				b.WriteRune(r)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
