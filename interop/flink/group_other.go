//go:build !unix

package flink

import "os/exec"

func groupOfItsOwn(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
