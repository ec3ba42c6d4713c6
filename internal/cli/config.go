package cli

import (
	"os"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/tarnerr"
)

// config turns the settings into the engine's.
func config(s settings) (tarn.Config, error) {
	const op = "reading settings"
	// Commands print, copy or hand on what they read before they read on.
	cfg := tarn.Config{Workers: s.Workers, Components: tarn.Components{Allocator: tarn.RecycledMemory()}}
	if s.Memory != "" {
		n, err := option.ParseMemorySize("memory", s.Memory)
		if err != nil {
			return cfg, tarnerr.Trace(op, err)
		}
		cfg.Memory = n
	}
	d, err := fileio.ParseDurability(s.Durability)
	if err != nil {
		return cfg, tarnerr.Trace(op, err)
	}
	cfg.Durability = d
	cfg.SpillDir = spillDir(s.SpillDir)
	return cfg, nil
}

// spillNone is the setting that lets nothing spill.
const spillNone = "none"

// spillDir is where rows go that do not fit the memory: the system's directory of
// temporary files, unless a setting says otherwise.
func spillDir(setting string) string {
	switch setting {
	case "":
		return os.TempDir()
	case spillNone:
		return ""
	}
	return setting
}
