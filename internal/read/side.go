package read

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/merge"
	"github.com/tarnlake/tarn/schema"
)

// side is one of two states that are compared, row by row in the order of keys.
type side struct {
	batch.Reader
	order *merge.Order
	rec   arrow.RecordBatch // of the reader; nil when it has ended
	keys  *merge.Keys
	at    int
	ended bool
}

// fill makes sure that there is a row to look at.
func (s *side) fill(ctx context.Context) error {
	if s.ended || s.rec != nil && s.at < s.rows() {
		return nil
	}
	var err error
	s.at = 0
	if s.rec, err = s.Next(ctx); err == io.EOF {
		s.rec, s.ended = nil, true
		return nil
	}
	if err == nil {
		s.keys, err = s.order.Load(s.rec)
	}
	return err
}

func (s *side) rows() int { return int(s.rec.NumRows()) }

func compareSides(a, b *side) int { return merge.CompareKeys(a.keys, a.at, b.keys, b.at) }

// keyOrder orders rows of all of a table's columns, with the kind in front.
func keyOrder(table *schema.Schema) (*merge.Order, error) {
	var keys []merge.Column
	for _, f := range table.Select(table.TrimmedPrimaryKeys()) {
		keys = append(keys, merge.Column{Index: 1 + table.Index(f.Name), Type: f.Type})
	}
	return merge.NewOrder(keys)
}
