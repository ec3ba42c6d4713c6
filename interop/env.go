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

// locate finds what the judge and pypaimon need.
func locate(ctx context.Context) (env, error) {
	places, err := Paths(ctx, "", "java", "classpath", "python", "peer")
	if err != nil {
		return env{}, err
	}
	return env{java: places["java"], classpath: places["classpath"], python: places["python"], peer: places["peer"]}, nil
}

// Paths asks scripts/interop-env.sh, which alone knows whether what is installed
// belongs to these sources, for the places called names of a set of its: "" for the
// judge and pypaimon, "flink".
func Paths(ctx context.Context, set string, names ...string) (map[string]string, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	args := []string{filepath.Join(root, "scripts", "interop-env.sh"), "--paths"}
	if set != "" {
		args = append(args, set)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("locating the interop environment: %s (%w)", strings.TrimSpace(stderr.String()), err)
	}
	places := map[string]string{}
	for line := range strings.Lines(stdout.String()) {
		name, place, _ := strings.Cut(strings.TrimSpace(line), "\t")
		places[name] = place
	}
	for _, name := range names {
		if places[name] == "" {
			return nil, fmt.Errorf("locating the interop environment: no line %s. output=%q", name, stdout.String())
		}
	}
	return places, nil
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
