package option

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCompaction(t *testing.T) {
	hour, total, more := time.Hour, int64(1<<20), int64(2<<20)
	for _, c := range []struct {
		name    string
		options map[string]string
		change  func(*Compaction)
	}{
		{"stop below the trigger", map[string]string{"num-sorted-run.stop-trigger": "2"}, func(c *Compaction) { c.StopTrigger = 5 }},
		{"stop above the trigger", map[string]string{"num-sorted-run.stop-trigger": "20"}, func(c *Compaction) { c.StopTrigger = 20 }},
		{"thresholds", map[string]string{
			"compaction.optimization-interval": "1 h", "compaction.total-size-threshold": "1 mb", "compaction.incremental-size-threshold": "2 mb",
			"compaction.max-size-amplification-percent": "30", "compaction.size-ratio": "7", "compaction.force-rewrite-all-files": "true",
			"compaction.min.file-num": "3", "compaction.file-num-limit": "9",
		}, func(c *Compaction) {
			c.OptimizationInterval, c.TotalSize, c.IncrementalSize = &hour, &total, &more
			c.MaxSizeAmplification, c.SizeRatio, c.ForceRewriteAll, c.MinFileNum, c.FileNumLimit = 30, 7, true, 3, 9
		}},
		{"off-peak", map[string]string{"compaction.offpeak.start.hour": "22", "compaction.offpeak.end.hour": "4", "compaction.offpeak-ratio": "50"},
			func(c *Compaction) { c.OffPeakStart, c.OffPeakEnd, c.OffPeakRatio = 22, 4, 50 }},
		{"force up", map[string]string{"compaction.force-up-level-0": "true", "lookup-compact": "GENTLE"}, func(c *Compaction) { c.ForceUpLevel0 = true }},
		{"lookup", map[string]string{"changelog-producer": "lookup"}, func(c *Compaction) { c.ForceUpLevel0 = true }},
		{"first row", map[string]string{"merge-engine": "first-row"}, func(c *Compaction) { c.ForceUpLevel0 = true }},
		{"vectors", map[string]string{"deletion-vectors.enabled": "true"}, func(c *Compaction) { c.ForceUpLevel0 = true }},
		{"full compactions tell", map[string]string{"changelog-producer": "full-compaction"}, func(c *Compaction) { c.FullDelta = 1 }},
		{"full compactions tell by others", map[string]string{"changelog-producer": "full-compaction", "write-only": "true"}, func(*Compaction) {}},
		{"full compactions tell when asked for", map[string]string{"changelog-producer": "full-compaction", "full-compaction.delta-commits": "-1"}, func(*Compaction) {}},
		{"each commit", map[string]string{"full-compaction.delta-commits": "0"}, func(c *Compaction) { c.FullDelta = 1 }},
		{"every third commit", map[string]string{"full-compaction.delta-commits": "3"}, func(c *Compaction) { c.FullDelta = 3 }},
		{"gentle", map[string]string{"force-lookup": "true", "lookup-compact": "gentle"}, func(c *Compaction) { c.ForceUpLevel0, c.ForceUpInterval = true, 10 }},
		{"gentle with an interval", map[string]string{"force-lookup": "true", "lookup-compact": "gentle", "lookup-compact.max-interval": "7"},
			func(c *Compaction) { c.ForceUpLevel0, c.ForceUpInterval = true, 7 }},
		{"gentle with too short an interval", map[string]string{"force-lookup": "true", "lookup-compact": "gentle", "lookup-compact.max-interval": "2"},
			func(c *Compaction) { c.ForceUpLevel0, c.ForceUpInterval = true, 5 }},
	} {
		o, err := Parse(c.options)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want, _ := Parse(nil)
		c.change(&want.Compaction)
		if d := cmp.Diff(want.Compaction, o.Compaction); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	o, _ := Parse(map[string]string{"target-file-size": "1019"})
	if n := o.CompactionFileSize(true); n != 707 {
		t.Errorf("small files have up to %d bytes", n)
	}
	if _, err := Parse(map[string]string{"num-sorted-run.compaction-trigger": "0"}); err == nil {
		t.Error("a trigger of 0 passes")
	}
}
