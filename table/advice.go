package table

// Advice is a figure of a table that is beyond a limit: what it is, why that is felt,
// and what to do about it.
type Advice struct {
	Subject  string `json:"subject"`  // bucket, compaction, changelog, retention, commit
	Severity string `json:"severity"` // AdviceNote, AdviceWarn
	// Rule is the name of the rule that found it; it stays the same between versions.
	Rule string `json:"rule"`
	// Where is the partition and bucket, option, consumer, commit or snapshot it is
	// about; of several the worst.
	Where  string `json:"where"`
	Figure int64  `json:"figure"`
	Limit  int64  `json:"limit"`  // Figure is above it, or has reached it; of buckets that are small, below
	Unit   string `json:"unit"`   // of Figure and Limit: bytes, seconds, percent, or what is counted
	Text   string `json:"text"`   // what is the matter, in sentences
	Remedy string `json:"remedy"` // a command line that can be run as it stands
}

// Severities of advice.
const (
	AdviceNote = "note" // it costs something
	AdviceWarn = "warn" // it costs much, is wrong, or gets worse by itself
)
