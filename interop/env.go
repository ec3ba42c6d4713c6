package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// env says where scripts/interop-env.sh put the other implementations.
type env struct {
	java, classpath string
	python, peer    string
}

// locate asks the script, which alone knows whether what is installed belongs to
// these sources.
func locate(ctx context.Context) (env, error) {
	root, err := moduleRoot()
	if err != nil {
		return env{}, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(root, "scripts", "interop-env.sh"), "--paths")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return env{}, fmt.Errorf("locating the interop environment: %s (%w)", strings.TrimSpace(stderr.String()), err)
	}
	var e env
	places := map[string]*string{"java": &e.java, "classpath": &e.classpath, "python": &e.python, "peer": &e.peer}
	for line := range strings.Lines(stdout.String()) {
		name, place, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if p := places[name]; p != nil {
			*p = place
		}
	}
	for name, p := range places {
		if *p == "" {
			return env{}, fmt.Errorf("locating the interop environment: no line %s. output=%q", name, stdout.String())
		}
	}
	return e, nil
}

// moduleRoot is the nearest folder above the working directory that has go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("locating the interop environment: no go.mod above the working directory")
		}
		dir = above
	}
}
