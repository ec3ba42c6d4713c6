package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"
)

const (
	historyMost  = 1000     // statements that are kept
	historyBytes = 4 << 20  // of the file
	historyText  = 64 << 10 // a longer statement is not kept
)

// sqlHistory is a file with what was typed, a statement per line. It is a
// convenience: what goes wrong with it is said once, and nothing fails.
type sqlHistory struct {
	path     string // "" = none
	errOut   io.Writer
	remember func(text string) // of the line editor; may be nil
	broken   bool
}

// historyPath is where statements are kept: TARN_HISTORY, which may be empty for
// nowhere, else a file in the user's directory for such state.
func historyPath() string {
	if p, ok := os.LookupEnv("TARN_HISTORY"); ok {
		return p
	}
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" || !filepath.IsAbs(dir) {
		if runtime.GOOS == "linux" {
			home, err := os.UserHomeDir()
			if err != nil {
				return ""
			}
			dir = filepath.Join(home, ".local", "state")
		} else if d, err := os.UserConfigDir(); err == nil {
			dir = d
		} else {
			return ""
		}
	}
	return filepath.Join(dir, "tarn", "sql_history")
}

func (h *sqlHistory) warn(err error) {
	if !h.broken {
		fmt.Fprintf(h.errOut, "warning: statements are not remembered: %v\n", err)
	}
	h.broken = true
}

// load hands the statements of the file to the line editor. A file that has
// grown is cut to what is kept.
func (h *sqlHistory) load() {
	if h.path == "" {
		return
	}
	entries, size, err := h.read()
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		h.warn(err)
		return
	}
	grown := size > historyBytes || len(entries) > 2*historyMost
	if len(entries) > historyMost {
		entries = entries[len(entries)-historyMost:]
	}
	if h.remember != nil {
		for _, e := range entries {
			h.remember(e)
		}
	}
	if grown {
		if err := h.rewrite(entries); err != nil {
			h.warn(err)
		}
	}
}

// read reads the end of the file.
func (h *sqlHistory) read() (entries []string, size int64, err error) {
	f, err := os.Open(h.path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is no file", h.path)
	}
	size = info.Size()
	from := max(0, size-historyBytes)
	text, err := io.ReadAll(io.NewSectionReader(f, from, size-from))
	if err != nil {
		return nil, 0, err
	}
	if from > 0 { // the first line is not whole
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && utf8.ValidString(line) {
			entries = append(entries, historyUnescape(line))
		}
	}
	return entries, size, nil
}

// add keeps a statement, if it is not one that begins with a space.
func (h *sqlHistory) add(text string) {
	if h == nil || strings.HasPrefix(text, " ") {
		return
	}
	text = strings.TrimRight(text, "\n ")
	if h.remember != nil {
		h.remember(text)
	}
	if h.path == "" || h.broken || len(text) > historyText {
		return
	}
	if err := h.append(text); err != nil {
		h.warn(err)
	}
}

func (h *sqlHistory) append(text string) (err error) {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil { // statements may hold what others must not see
			return err
		}
	}
	_, err = f.WriteString(historyEscape(text) + "\n") // one write: shells side by side do not mix
	return err
}

// rewrite replaces the file by one that holds entries.
func (h *sqlHistory) rewrite(entries []string) error {
	f, err := os.CreateTemp(filepath.Dir(h.path), "sql_history-*") // 0600
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(historyEscape(e) + "\n")
	}
	_, err = f.WriteString(b.String())
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), h.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func historyEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(text)
}

func historyUnescape(line string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r").Replace(line)
}
