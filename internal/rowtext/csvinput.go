package rowtext

import (
	"bytes"
	"io"
)

// csvInput keeps the bytes of the record at hand, which encoding/csv does not
// give: rejected rows are set aside as they were, and an empty cell in quotes is
// told from one without.
type csvInput struct {
	r    io.Reader
	kept []byte // from offset base on
	base int64
}

func (c *csvInput) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.kept = append(c.kept, p[:n]...)
	return n, err
}

// record is the text from one offset of the input to another, without the empty
// lines before it and the line end behind it.
func (c *csvInput) record(from, to int64) []byte {
	text := c.kept[from-c.base : to-c.base]
	return bytes.TrimRight(bytes.TrimLeft(text, "\r\n"), "\r\n")
}

// forget drops what lies before an offset.
func (c *csvInput) forget(before int64) {
	if n := before - c.base; n > 0 {
		c.kept = c.kept[:copy(c.kept, c.kept[n:])]
		c.base = before
	}
}

// quotedAt reports that the cell at a line of a record, from 0, and a byte of
// that line, from 0, starts with a quote.
func quotedAt(record []byte, line, column int) bool {
	for range line {
		i := bytes.IndexByte(record, '\n')
		if i < 0 {
			return false
		}
		record = record[i+1:]
	}
	return column < len(record) && record[column] == '"'
}
