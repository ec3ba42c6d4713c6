package option

import "time"

// Stream are the options of reads that follow a table's changes, or ask for
// those between two snapshots.
type Stream struct {
	Mode             string        // scan.mode, resolved as Java does; "full" is "latest-full"
	Interval         time.Duration // between two looks for a new snapshot
	Delay            time.Duration // how old a snapshot must be to be read
	BoundedWatermark *int64        // where a stream ends; nil when not set
	Overwrite        bool          // show what overwrites of key tables replace
	AppendOverwrite  bool          // show what overwrites of append tables add
	Between          string        // incremental-between, "" when not set
	BetweenTimes     string        // incremental-between-timestamp, "" when not set
	BetweenMode      string        // "auto", "delta", "changelog" or "diff"
	BetweenSnapshots bool          // take the tags of Between as their snapshots
	Consumer         string        // consumer-id, "" when not set
	IgnoreProgress   bool          // begin elsewhere than the consumer is

	ConsumerExpiration time.Duration // after which a consumer that is not written goes, 0 when not set
}

func (r *reader) stream() Stream {
	s := Stream{
		Mode: r.word("scan.mode"), Interval: r.duration("continuous.discovery-interval"),
		Overwrite: r.bool("streaming-read-overwrite"), AppendOverwrite: r.bool("streaming-read-append-overwrite"),
		Between: r.text("incremental-between"), BetweenTimes: r.text("incremental-between-timestamp"),
		BetweenMode: r.word("incremental-between-scan-mode"), BetweenSnapshots: r.bool("incremental-between-tag-to-snapshot"),
		Consumer: r.text("consumer-id"), IgnoreProgress: r.bool("consumer.ignore-progress"),
	}
	if r.set("streaming.read.snapshot.delay") {
		s.Delay = r.duration("streaming.read.snapshot.delay")
	}
	if r.set("consumer.expiration-time") {
		s.ConsumerExpiration = r.duration("consumer.expiration-time")
	}
	if r.set("scan.bounded.watermark") {
		w := r.long("scan.bounded.watermark")
		s.BoundedWatermark = &w
	}
	switch {
	case s.Mode == "full":
		s.Mode = "latest-full"
	case s.Mode != "default":
	case r.set("scan.snapshot-id"):
		s.Mode = "from-snapshot"
	case s.Between != "" || s.BetweenTimes != "":
		s.Mode = "incremental"
	default:
		s.Mode = "latest-full"
	}
	return s
}
