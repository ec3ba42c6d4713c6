//go:build (!unix && !windows) || solaris || aix

package spill

import (
	"errors"
	"os"
)

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
