package cli

import (
	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/fileio"
	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/tarnerr"
)

// config turns the settings into the engine's.
func config(s settings) (tarn.Config, error) {
	const op = "reading settings"
	cfg := tarn.Config{Workers: s.Workers}
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
	return cfg, nil
}
