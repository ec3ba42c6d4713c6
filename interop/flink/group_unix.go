//go:build unix

package flink

import (
	"os/exec"
	"syscall"
)

// groupOfItsOwn makes a command and its children one process group.
func groupOfItsOwn(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a command and its children.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
