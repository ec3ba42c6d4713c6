package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/catalog"
	"github.com/tarnlake/tarn/table"
	"github.com/tarnlake/tarn/tarnerr"
)

// app is one run of the command.
type app struct {
	in          io.Reader
	out, errOut io.Writer
	flags       settings
	configFile  string
	rt          *tarn.Runtime
	cat         catalog.Catalog
}

// settings come from flags, then the environment, then the config file.
type settings struct {
	Warehouse  string `json:"warehouse"`
	Memory     string `json:"memory"`
	Workers    int    `json:"workers"`
	Durability string `json:"durability"`
	SpillDir   string `json:"spill-dir"`
}

func (a *app) root() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "tarn",
		Short: "Read and write Apache Paimon tables",
		Long: `tarn reads and writes Apache Paimon tables on plain storage: primary-key tables
that merge a stream of inserts, updates and deletes, append tables, and every
snapshot they had. No server is needed: a warehouse is a directory.

The warehouse is named by -w, else TARN_WAREHOUSE, else "warehouse" in the config
file (--config, TARN_CONFIG, ./tarn.json, or tarn/tarn.json in the user's config
directory).`,
		Example: `  tarn -w ./lake db create shop
  tarn -w ./lake table create shop.orders 'id BIGINT, status STRING, version BIGINT' \
      --primary-key id --option bucket=2 --option sequence.field=version
  echo '{"id":1001,"status":"CREATED","version":1}' | tarn -w ./lake table import shop.orders - --format jsonl
  tarn -w ./lake table read shop.orders`,
		SilenceUsage:  true,
		SilenceErrors: true,
	})
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	f := cmd.PersistentFlags()
	f.StringVarP(&a.flags.Warehouse, "warehouse", "w", "", "warehouse directory or URI")
	f.StringVar(&a.configFile, "config", "", "config file (JSON)")
	f.StringVar(&a.flags.Memory, "memory", "", "memory budget, such as 512mb (default 256mb)")
	f.IntVar(&a.flags.Workers, "workers", 0, "work done side by side (default: the number of CPUs)")
	f.StringVar(&a.flags.Durability, "durability", "", "fsync: a commit survives a power cut (default); os: it survives a crash of the process")
	f.StringVar(&a.flags.SpillDir, "spill-dir", "", "local directory for rows that do not fit the memory budget (default: the system's for temporary files); none: they become data files early")
	cmd.AddCommand(a.db(), a.table(), a.partition(), a.consumer(), a.commit(), a.sql(), a.version())
	return cmd
}

// catalog opens the warehouse, once.
func (a *app) catalog(ctx context.Context) (catalog.Catalog, error) {
	if a.cat != nil {
		return a.cat, nil
	}
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	if s.Warehouse == "" {
		return nil, tarnerr.New(tarnerr.Invalid, "opening warehouse", "no warehouse named").
			WithHint("Give -w DIR, or set TARN_WAREHOUSE.")
	}
	cfg, err := config(s)
	if err != nil {
		return nil, err
	}
	cfg.Components.Listener = a.warnings()
	if a.rt, err = tarn.NewRuntime(cfg); err != nil {
		return nil, err
	}
	a.cat, err = a.rt.Open(ctx, s.Warehouse)
	return a.cat, err
}

func (a *app) close() error {
	var err error
	if a.cat != nil {
		err = a.cat.Close()
	}
	if a.rt != nil {
		err = errors.Join(err, a.rt.Close())
	}
	return err
}

func (a *app) settings() (settings, error) {
	s := a.flags
	file, err := a.readConfig()
	if err != nil {
		return s, err
	}
	s.Warehouse = first(s.Warehouse, os.Getenv("TARN_WAREHOUSE"), file.Warehouse)
	s.Memory = first(s.Memory, os.Getenv("TARN_MEMORY"), file.Memory)
	s.Durability = first(s.Durability, os.Getenv("TARN_DURABILITY"), file.Durability)
	s.SpillDir = first(s.SpillDir, os.Getenv("TARN_SPILL_DIR"), file.SpillDir)
	if s.Workers == 0 {
		s.Workers = file.Workers
	}
	return s, nil
}

func first(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

// readConfig reads the config file; only one that was named must exist.
func (a *app) readConfig() (settings, error) {
	named := first(a.configFile, os.Getenv("TARN_CONFIG"))
	paths := []string{named}
	if named == "" {
		paths = []string{"tarn.json"}
		if dir, err := os.UserConfigDir(); err == nil {
			paths = append(paths, filepath.Join(dir, "tarn", "tarn.json"))
		}
	}
	for _, p := range paths {
		f, err := os.Open(p)
		if errors.Is(err, fs.ErrNotExist) && named == "" {
			continue
		}
		if err != nil {
			return settings{}, tarnerr.Wrap(tarnerr.NotFound, "reading config file", err)
		}
		defer f.Close()
		var s settings
		dec := json.NewDecoder(f)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&s); err != nil {
			return settings{}, tarnerr.Wrap(tarnerr.Invalid, "reading config file", err, "path", p).
				WithHint(`It holds a JSON object with "warehouse", "memory", "workers", "durability" and "spill-dir".`)
		}
		return s, nil
	}
	return settings{}, nil
}

// load opens the table that a command names.
func (a *app) load(ctx context.Context, name string) (table.Table, error) {
	id, err := table.ParseIdentifier(name)
	if err != nil {
		return nil, err
	}
	cat, err := a.catalog(ctx)
	if err != nil {
		return nil, err
	}
	return cat.LoadTable(ctx, id)
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, rev := "devel", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				if m := info.Main.Version; m != "" && m != "(devel)" {
					v = m
				}
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						rev = " " + s.Value
					}
				}
			}
			cmd.Printf("tarn %s%s (%s, %s/%s; Paimon format of 1.4.2)\n", v, rev, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
