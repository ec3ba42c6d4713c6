package lineedit

import (
	"slices"
	"unicode"

	width "github.com/jedib0t/go-pretty/v6/text"
)

// buffer is the text being typed.
type buffer struct {
	text   []rune
	cursor int // rune of text, or its end
	killed []rune
	undone []version
	typing bool // the last change put in characters, which are undone together
}

type version struct {
	text   []rune
	cursor int
}

const (
	// maxText is how long a text may become. What does not fit is not put in, not
	// even in part.
	maxText = 1 << 20
	// maxUndo bounds how many changes can be undone, maxUndoText the memory for it.
	maxUndo     = 200
	maxUndoText = 4 << 20
)

// edit carries out a key that works on the text alone.
func (b *buffer) edit(k key) {
	switch k {
	case keyLeft, keyCharLeft:
		b.cursor = b.left(b.cursor)
	case keyRight, keyCharRight:
		b.cursor = b.right(b.cursor)
	case keyWordLeft, keyAlt + 'b':
		b.cursor = b.wordLeft()
	case keyWordRight, keyAlt + 'f':
		b.cursor = b.wordRight()
	case keyHome, keyLineStart:
		b.cursor = b.lineStart()
	case keyFinish, keyLineEnd:
		b.cursor = b.lineEnd()
	case keyBackspace, keyBackspace2:
		b.cut(b.left(b.cursor), b.cursor)
	case keyDelete:
		b.deleteRight()
	case keyKill:
		end := b.lineEnd()
		if end == b.cursor { // at the end of a line: its line end
			end = b.right(b.cursor)
		}
		b.kill(b.cursor, end)
	case keyKillLeft:
		b.kill(b.lineStart(), b.cursor)
	case keyKillWord:
		from := b.cursor
		for from > 0 && unicode.IsSpace(b.text[from-1]) {
			from--
		}
		for from > 0 && !unicode.IsSpace(b.text[from-1]) {
			from--
		}
		b.kill(from, b.cursor)
	case keyAlt + keyBackspace:
		b.kill(b.wordLeft(), b.cursor)
	case keyAlt + 'd':
		b.kill(b.cursor, b.wordRight())
	case keyYank:
		b.insert(string(b.killed))
	case keySwap:
		b.swap()
	case keyUndo:
		b.undo()
	default:
		if k >= ' ' && k < keyNone && !unicode.IsControl(rune(k)) {
			b.typeIn(rune(k))
		}
	}
}

// change remembers the text before it is changed.
func (b *buffer) change() {
	b.typing = false
	b.undone = append(b.undone, version{slices.Clone(b.text), b.cursor})
	size := 0
	for i := len(b.undone) - 1; i >= 0; i-- {
		if size += len(b.undone[i].text); size > maxUndoText || len(b.undone)-i > maxUndo {
			b.undone = b.undone[i+1:]
			break
		}
	}
}

func (b *buffer) undo() {
	b.typing = false
	if n := len(b.undone); n > 0 {
		v := b.undone[n-1]
		b.text, b.cursor, b.undone = v.text, v.cursor, b.undone[:n-1]
	}
}

func (b *buffer) insert(s string) {
	if rs := []rune(s); len(rs) > 0 && len(b.text)+len(rs) <= maxText {
		b.change()
		b.put(rs)
	}
}

func (b *buffer) typeIn(r rune) {
	if len(b.text) == maxText {
		return
	}
	if !b.typing || unicode.IsSpace(r) {
		b.change()
		b.typing = true
	}
	b.put([]rune{r})
}

func (b *buffer) put(rs []rune) {
	b.text = slices.Insert(b.text, b.cursor, rs...)
	b.cursor += len(rs)
}

// replace makes s the whole text, the cursor behind it.
func (b *buffer) replace(s string) {
	b.change()
	b.text = []rune(s)
	b.cursor = len(b.text)
}

func (b *buffer) cut(from, to int) {
	if from == to {
		return
	}
	b.change()
	b.text = slices.Delete(b.text, from, to)
	b.cursor = from
}

func (b *buffer) kill(from, to int) {
	if from < to {
		b.killed = slices.Clone(b.text[from:to])
		b.cut(from, to)
	}
}

func (b *buffer) deleteRight() { b.cut(b.cursor, b.right(b.cursor)) }

// swap exchanges the characters around the cursor, or the last two of the line.
func (b *buffer) swap() {
	at := b.cursor
	if at == b.lineEnd() {
		at--
	}
	if at <= b.lineStart() {
		return
	}
	b.change()
	b.text[at-1], b.text[at] = b.text[at], b.text[at-1]
	b.cursor = at + 1
}

// left is one character before at, with the marks that combine with it.
func (b *buffer) left(at int) int {
	for at > 0 {
		at--
		if !combines(b.text[at]) {
			break
		}
	}
	return at
}

func (b *buffer) right(at int) int {
	for at < len(b.text) {
		at++
		if at == len(b.text) || !combines(b.text[at]) {
			break
		}
	}
	return at
}

// combines tells that r is shown on the character before it.
func combines(r rune) bool { return !unicode.IsControl(r) && width.RuneWidth(r) == 0 }

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func (b *buffer) wordLeft() int {
	at := b.cursor
	for at > 0 && !isWord(b.text[at-1]) {
		at--
	}
	for at > 0 && isWord(b.text[at-1]) {
		at--
	}
	return at
}

func (b *buffer) wordRight() int {
	at := b.cursor
	for at < len(b.text) && !isWord(b.text[at]) {
		at++
	}
	for at < len(b.text) && isWord(b.text[at]) {
		at++
	}
	return at
}

func (b *buffer) lineStart() int { return lineStart(b.text, b.cursor) }

func lineStart(text []rune, at int) int {
	for at > 0 && text[at-1] != '\n' {
		at--
	}
	return at
}

func (b *buffer) lineEnd() int {
	at := b.cursor
	for at < len(b.text) && b.text[at] != '\n' {
		at++
	}
	return at
}

// lineUp moves the cursor to the line above, false when there is none.
func (b *buffer) lineUp() bool {
	start := b.lineStart()
	if start == 0 {
		return false
	}
	above := lineStart(b.text, start-1)
	b.cursor = min(above+b.cursor-start, start-1)
	return true
}

func (b *buffer) lineDown() bool {
	end := b.lineEnd()
	if end == len(b.text) {
		return false
	}
	column := b.cursor - b.lineStart()
	b.cursor = end + 1
	b.cursor = min(b.cursor+column, b.lineEnd())
	return true
}
