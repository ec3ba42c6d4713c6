package table

// Consumer is a named reader of a table's changes, and how far it has come. Java's
// readers (option consumer-id) and Follow share them. Expiry keeps the
// snapshots from Next on as long as the consumer is there, which with the option
// consumer.expiration-time is until it was not written for so long.
type Consumer struct {
	ID   string `json:"consumer_id"`
	Next int64  `json:"next_snapshot_id"` // snapshot that it reads next
}
