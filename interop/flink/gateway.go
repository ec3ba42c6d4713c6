package flink

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tarnlake/tarn/interop"
)

// startLimit and statementLimit end what hangs. A start takes some five seconds, a
// statement one or two.
const (
	startLimit     = 2 * time.Minute
	statementLimit = 3 * time.Minute
)

// Gateway is a running Flink. Safe for concurrent use.
type Gateway struct {
	client  http.Client
	process *exec.Cmd
	folder  string // of this process alone, with its log
	quit    func() // what Close does once
	done    chan struct{}
	exit    error // read it only after done

	url string
}

// Start starts the process and returns when it answers. The caller closes it; it
// also ends with ctx, and with this process however that ends.
func Start(ctx context.Context) (*Gateway, error) {
	places, err := interop.Paths(ctx, "flink", "java", "classpath")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "tarn-flink-")
	if err != nil {
		return nil, fmt.Errorf("starting Flink: %w", err)
	}
	g, err := launch(ctx, places["java"], places["classpath"], folder)
	if err != nil {
		os.RemoveAll(folder)
		return nil, fmt.Errorf("starting Flink: %w", err)
	}
	return g, nil
}

func launch(ctx context.Context, java, classpath, folder string) (*Gateway, error) {
	// Its jobs are many and short: what the second compiler takes never comes back.
	args := []string{"-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + folder,
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"}
	for _, p := range []string{"java.lang", "java.net", "java.nio", "java.util", "sun.nio.ch"} {
		args = append(args, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	cmd := exec.CommandContext(ctx, java, append(args, "-cp", classpath, "org.tarnlake.flink.Gateway")...)
	cmd.Dir = folder
	groupOfItsOwn(cmd)
	done := make(chan struct{}) // closed when it has been waited for, and its number may be another's
	kill := func() error {
		select {
		case <-done:
			return os.ErrProcessDone
		default:
			return killGroup(cmd)
		}
	}
	cmd.Cancel = kill
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has a copy
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	defer stdout.Close()
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stdout.Close() // so that out ends with the process
	g := &Gateway{process: cmd, folder: folder, done: done}
	g.quit = sync.OnceFunc(func() {
		stdin.Close()
		kill()
	})
	go func() {
		g.exit = cmd.Wait()
		close(g.done)
	}()
	address := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		address <- strings.TrimSpace(line)
	}()
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case g.url = <-address:
	case <-limit.C:
	case <-ctx.Done():
	}
	if g.url == "" {
		g.quit()
		<-g.done
		return nil, fmt.Errorf("it does not answer: %w", g.ended())
	}
	return g, nil
}

// Close kills the process and removes its folder, and returns when both are gone.
func (g *Gateway) Close() error {
	g.quit()
	<-g.done
	return os.RemoveAll(g.folder)
}

// KeepLog copies what the process has logged to a file that Close leaves, and
// returns its path.
func (g *Gateway) KeepLog() (string, error) {
	text, err := os.ReadFile(g.log())
	if err != nil {
		return "", err
	}
	kept := g.folder + ".log"
	return kept, os.WriteFile(kept, text, 0o644)
}

func (g *Gateway) log() string { return filepath.Join(g.folder, "log") }

// ended says why the process is gone, with its last words.
func (g *Gateway) ended() error {
	const last = 4 << 10
	text, err := os.ReadFile(g.log())
	if err != nil {
		return errors.Join(g.exit, err)
	}
	return fmt.Errorf("exit=%v log=%q", g.exit, text[max(0, len(text)-last):])
}

// alive tells what is behind an error of the connection.
func (g *Gateway) alive(err error) error {
	select {
	case <-g.done:
		return fmt.Errorf("%w: the process has ended: %w", err, g.ended())
	default:
		return err
	}
}
