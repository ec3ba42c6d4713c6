package lineedit

import (
	"context"
	"strings"
)

// history is what was typed before, the oldest first.
type history struct {
	entries []string
	at      int            // entry that is shown; len(entries) for the text being typed
	edited  map[int]string // entries that were changed while they were shown
}

func (h *history) add(text string) {
	if text == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == text {
		return
	}
	h.entries = append(h.entries, text)
}

// rewind goes back to the end, for a new text.
func (h *history) rewind() { h.at, h.edited = len(h.entries), map[int]string{} }

// older keeps the text that is shown and returns the one before it.
func (h *history) older(shown string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	return h.show(h.at-1, shown), true
}

func (h *history) newer(shown string) (string, bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	return h.show(h.at+1, shown), true
}

func (h *history) show(at int, shown string) string {
	h.edited[h.at] = shown
	h.at = at
	if t, ok := h.edited[at]; ok {
		return t
	}
	return h.entries[at]
}

// find is the newest entry before at that holds text, -1 for none.
func (h *history) find(text string, before int) int {
	for i := min(before, len(h.entries)) - 1; i >= 0; i-- {
		if strings.Contains(h.entries[i], text) {
			return i
		}
	}
	return -1
}

// search looks for a text in the history as it is typed. Ctrl-R goes on to an
// older one; Ctrl-G takes back the text from before; any other key works on what
// was found.
func (e *Editor) search(ctx context.Context) (done bool, err error) {
	before, prompts := e.buffer, e.prompts
	defer func() { e.prompts = prompts }()
	wanted, at := "", len(e.history.entries)
	look := func(from int) {
		if i := e.history.find(wanted, from); i >= 0 && wanted != "" {
			at = i
			e.text = []rune(e.history.entries[i])
			e.cursor = len([]rune(e.history.entries[i][:strings.Index(e.history.entries[i], wanted)]))
		}
	}
	for {
		e.prompts.first = "(search `" + wanted + "') "
		if wanted != "" && !strings.Contains(string(e.text), wanted) {
			e.prompts.first = "(not found `" + wanted + "') "
		}
		if !e.input.waiting() {
			if err := e.draw(); err != nil {
				return false, err
			}
		}
		k, err := e.input.key(ctx)
		if err != nil {
			return false, err
		}
		switch {
		case k == keySearch:
			look(at)
		case k == keyCancel:
			e.buffer = before
			return false, nil
		case k == keyBackspace || k == keyBackspace2:
			if r := []rune(wanted); len(r) > 0 {
				wanted = string(r[:len(r)-1])
				look(len(e.history.entries))
			}
		case k >= ' ' && k < keyNone:
			wanted += string(rune(k))
			look(min(at+1, len(e.history.entries)))
		default:
			if at < len(e.history.entries) {
				e.history.edited[e.history.at] = string(before.text)
				e.history.at = at
				e.undone, e.typing = append(before.undone, version{before.text, before.cursor}), false
			}
			e.prompts = prompts
			return e.press(ctx, k)
		}
	}
}
