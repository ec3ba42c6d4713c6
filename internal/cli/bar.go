package cli

import (
	"os"
	"sync"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// workBar is a progress bar when a person is watching, else nothing.
type workBar struct {
	w     *os.File
	name  string
	bytes bool // what is counted

	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

func (a *app) workBar(name string, bytes bool) *workBar {
	watcher, ok := a.errOut.(*os.File)
	if !ok || !term.IsTerminal(int(watcher.Fd())) {
		return &workBar{}
	}
	return &workBar{w: watcher, name: name, bytes: bytes}
}

// show moves the bar; it is called side by side.
func (b *workBar) show(done, all int64) {
	if b.w == nil || all == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil {
		options := []progressbar.Option{
			progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription(b.name), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetRenderBlankState(true), progressbar.OptionShowBytes(b.bytes),
		}
		if !b.bytes {
			options = append(options, progressbar.OptionShowCount())
		}
		b.bar = progressbar.NewOptions64(all, options...)
	}
	// A bar that cannot be drawn harms nothing.
	b.bar.ChangeMax64(all)
	_ = b.bar.Set64(done)
}

// end takes the bar away.
func (b *workBar) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar = nil
	}
}
