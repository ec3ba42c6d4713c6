package sim

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// trace is what happened in a run, line by line. The last lines hold its
// decisions, by which the run can be repeated. Safe for concurrent use.
//
// Processes that wake up at the same moment write side by side. What they write
// waits until nobody works any more, and comes in the order of processes then.
type trace struct {
	mu         sync.Mutex
	b          bytes.Buffer
	waiting    []traced
	violations []string
}

// traced is a line of a process.
type traced struct {
	process   int
	client    int
	text      string
	violation bool
}

// call notes a storage call of a process and how it ended.
func (t *trace) call(step int64, c *call, end string) {
	b := make([]byte, 0, 128)
	b = strconv.AppendInt(b, step, 10)
	b = append(b, ' ')
	b = append(b, c.p.name...)
	b = append(b, ' ')
	b = append(b, c.method...)
	b = append(b, ' ')
	b = append(b, strings.TrimPrefix(c.path, place.Dir+"/")...)
	if end != "" {
		b = append(b, ": "...)
		b = append(b, end...)
	}
	t.wait(traced{process: c.p.number, client: c.client, text: string(append(b, '\n'))})
}

// line notes what a process did or was told.
func (t *trace) line(p *process, words ...any) {
	t.wait(traced{process: p.number, client: p.client, text: "    " + p.name + ": " + fmt.Sprintln(words...)})
}

// wrong notes that something is wrong in a process.
func (t *trace) wrong(p *process, format string, args ...any) {
	t.wait(traced{process: p.number, client: p.client, text: p.name + ": " + fmt.Sprintf(format, args...), violation: true})
}

func (t *trace) wait(line traced) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, line)
}

// note notes something of no process, after all that processes have written.
func (t *trace) note(words ...any) {
	t.settle()
	fmt.Fprintf(&t.b, "    %s", fmt.Sprintln(words...))
}

// violate notes that something is wrong, found by no process.
func (t *trace) violate(format string, args ...any) {
	t.settle()
	t.violation(fmt.Sprintf(format, args...))
}

func (t *trace) violation(text string) {
	t.violations = append(t.violations, text)
	fmt.Fprintf(&t.b, "!!! %s\n", text)
}

// settle puts the lines of processes in their order. Nobody works.
func (t *trace) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.waiting, func(a, b traced) int {
		return cmp.Or(a.process-b.process, a.client-b.client)
	})
	for _, l := range t.waiting {
		if l.violation {
			t.violation(l.text)
		} else {
			t.b.WriteString(l.text)
		}
	}
	t.waiting = t.waiting[:0]
}

const (
	seedHead    = "seed "
	choicesHead = "choices "
)

// file is the whole trace of a run, to be written to a file.
func (t *trace) file(seed uint64, c *choices) []byte {
	t.settle()
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s%d\n", seedHead, seed)
	out.Write(t.b.Bytes())
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		panic(err) // of the level
	}
	for _, v := range c.taken {
		z.Write(binary.AppendUvarint(nil, uint64(v)))
	}
	z.Close()
	for line := range slices.Chunk(packed.Bytes(), 64) {
		out.WriteString(choicesHead + hex.EncodeToString(line) + "\n")
	}
	return out.Bytes()
}

// parseTrace reads the seed and the decisions of a trace file.
func parseTrace(data []byte) (seed uint64, given []uint32, err error) {
	var packed []byte
	found := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, seedHead); ok && !found {
			if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
				return 0, nil, fmt.Errorf("reading trace: %w", err)
			}
			found = true
		}
		if text, ok := strings.CutPrefix(line, choicesHead); ok {
			part, err := hex.DecodeString(text)
			if err != nil {
				return 0, nil, fmt.Errorf("reading trace: %w", err)
			}
			packed = append(packed, part...)
		}
	}
	if !found {
		return 0, nil, fmt.Errorf("reading trace: no line begins with %q", seedHead)
	}
	choices := bufio.NewReader(flate.NewReader(bytes.NewReader(packed)))
	for len(packed) > 0 {
		v, err := binary.ReadUvarint(choices)
		if err == io.EOF {
			break
		}
		if err != nil || v > math.MaxUint32 {
			return 0, nil, fmt.Errorf("reading trace: decision %d: %v", len(given), err)
		}
		given = append(given, uint32(v))
	}
	return seed, given, nil
}
