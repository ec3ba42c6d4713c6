package ocf

const (
	// Magic begins a container.
	Magic = "Obj\x01"
	// MarkerSize is the length of the marker behind the header and each block.
	MarkerSize = 16
	// BlockSize ends a block as soon as its records have as many bytes, as Avro's
	// own writers do.
	BlockSize = 64_000

	schemaKey = "avro.schema"
	codecKey  = "avro.codec"
)

// Header is what stands in front of the blocks of a container.
type Header struct {
	Schema []byte // text
	Codec  string
	Marker []byte // shared
}

// Header reads the header of a container that begins where the cursor stands,
// which is left at the first block.
func (c *Cursor) Header() Header {
	h := Header{Codec: CodecNull}
	if string(c.Take(len(Magic))) != Magic {
		c.Pos = 0
		c.Fail("not an Avro object container")
	}
	for k := c.Items(); k > 0 && c.Err == nil; k = c.Items() {
		for ; k > 0 && c.Err == nil; k-- {
			key, value := c.Text(), c.Text()
			switch string(key) {
			case schemaKey:
				h.Schema = value
			case codecKey:
				if len(value) > 0 {
					h.Codec = string(value)
				}
			}
		}
	}
	h.Marker = c.Take(MarkerSize)
	return h
}

// AppendHeader writes a header without its marker.
func AppendHeader(dst []byte, schema, codec string) []byte {
	dst = AppendLong(append(dst, Magic...), 2)
	for _, s := range []string{schemaKey, schema, codecKey, codec} {
		dst = AppendText(dst, s)
	}
	return append(dst, 0)
}
