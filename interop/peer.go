package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Failure is a request that the other implementation refused or failed at.
type Failure struct {
	Peer  string   // judge or pypaimon
	Cmd   string   // the request's cmd
	Chain []string // its exception and the causes, outermost first
}

// Error gives the whole chain, one exception a line.
func (f *Failure) Error() string {
	return fmt.Sprintf("asking %s to %s: %s", f.Peer, f.Cmd, strings.Join(f.Chain, "\ncaused by: "))
}

// peer is a running process that answers JSON requests line by line. It is safe
// for concurrent use: one goroutine owns the pipes and takes requests in turn.
type peer struct {
	name    string
	process *exec.Cmd
	calls   chan call
	quit    func()        // Close's part that happens once
	closing chan struct{} // closed by quit
	done    chan struct{} // closed when the process is gone
	end     error         // why it is gone; read it only after done
}

type call struct {
	request []byte
	reply   chan []byte // one slot, so that a caller who left does not hold up the owner
}

// start runs a process and waits until it answers. It ends with Close, or with
// the context that cmd was made with.
func start(ctx context.Context, name string, cmd *exec.Cmd) (*peer, error) {
	p := &peer{name: name, process: cmd, calls: make(chan call), closing: make(chan struct{}), done: make(chan struct{})}
	log := &tail{limit: 16 << 10}
	cmd.Stderr = log
	cmd.WaitDelay = 5 * time.Second // for a descendant that keeps stderr open
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p.quit = sync.OnceFunc(func() {
		close(p.closing)
		cmd.Process.Kill()
	})
	go p.own(stdin, bufio.NewReader(stdout), log)
	if err := p.ask(ctx, "version", command{Cmd: "version"}, nil); err != nil {
		p.Close()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return p, nil
}

// Close kills the process and returns when it is gone. Requests under way fail.
func (p *peer) Close() error {
	p.quit()
	<-p.done
	return nil
}

// command is the part that all requests have.
type command struct {
	Cmd       string `json:"cmd"`
	Warehouse string `json:"warehouse,omitempty"`
}

// ask sends a request and decodes the reply into reply, unless that is nil. When
// ctx ends first, the process still works on the request and later ones wait.
func (p *peer) ask(ctx context.Context, cmd string, request, reply any) error {
	line, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("asking %s to %s: %w", p.name, cmd, err)
	}
	c := call{request: append(line, '\n'), reply: make(chan []byte, 1)}
	select {
	case p.calls <- c:
	case <-p.done:
		return fmt.Errorf("asking %s to %s: %w", p.name, cmd, p.end)
	case <-ctx.Done():
		return fmt.Errorf("asking %s to %s: %w", p.name, cmd, ctx.Err())
	}
	select {
	case line = <-c.reply:
	case <-ctx.Done():
		return fmt.Errorf("asking %s to %s: %w", p.name, cmd, ctx.Err())
	case <-p.done:
		select {
		case line = <-c.reply: // its last words
		default:
			return fmt.Errorf("asking %s to %s: %w", p.name, cmd, p.end)
		}
	}
	return p.decode(cmd, line, reply)
}

func (p *peer) decode(cmd string, line []byte, reply any) error {
	var status struct {
		OK    bool     `json:"ok"`
		Chain []string `json:"chain"`
	}
	if err := json.Unmarshal(line, &status); err != nil {
		return fmt.Errorf("asking %s to %s: reading its reply: %w. reply=%.200q", p.name, cmd, err, line)
	}
	if !status.OK {
		return &Failure{Peer: p.name, Cmd: cmd, Chain: status.Chain}
	}
	if reply == nil {
		return nil
	}
	if err := json.Unmarshal(line, reply); err != nil {
		return fmt.Errorf("asking %s to %s: reading its reply: %w. reply=%.200q", p.name, cmd, err, line)
	}
	return nil
}

// own passes requests and replies on until the process ends or is to end.
func (p *peer) own(stdin io.Writer, stdout *bufio.Reader, log *tail) {
	cause := p.serve(stdin, stdout)
	p.process.Process.Kill() // it may have broken the protocol and still run
	exit := p.process.Wait()
	select {
	case <-p.closing:
		p.end = errors.New("it is closed")
	default:
		p.end = fmt.Errorf("it ended: %w. exit=%v stderr=%q", cause, exit, log)
	}
	close(p.done)
}

func (p *peer) serve(stdin io.Writer, stdout *bufio.Reader) error {
	for {
		select {
		case c := <-p.calls:
			if _, err := stdin.Write(c.request); err != nil {
				return err
			}
			line, err := stdout.ReadBytes('\n')
			if err != nil {
				return err
			}
			c.reply <- line
		case <-p.closing:
			return nil
		}
	}
}

// tail keeps the last bytes written to it.
type tail struct {
	limit int
	text  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if cut := len(t.text) - t.limit; cut > 0 {
		t.text = append(t.text[:0], t.text[cut:]...)
	}
	return len(b), nil
}

func (t *tail) String() string { return string(t.text) }
