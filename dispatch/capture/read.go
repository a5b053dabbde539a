package capture

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/toolwire/toolwire/internal/strictjson"
)

// maxLine bounds a line that is read, in bytes.
const maxLine = 32 << 20

// Read reads captures. A file may have several, one after the other. Empty lines are left out. A
// line that cannot be read, such as the last one of a process that was killed, is a record of kind
// broken. Members that Read does not know are ignored. The error is that of r, and the records
// before it are returned with it.
func Read(r io.Reader) ([]Record, error) {
	var list []Record
	session := 0
	in := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, long, err := readLine(in)
		ended := err == nil
		line = bytes.TrimSpace(line)
		if len(line) > 0 || long {
			var record Record
			switch problem := record.parse(line); {
			case long:
				record = Record{Kind: kindBroken, Problem: "it has more than 32 MiB"}
			case problem != "" && !ended:
				record = Record{Kind: kindBroken, Problem: "it is incomplete: " + problem}
			case problem != "":
				record = Record{Kind: kindBroken, Problem: problem}
			}
			if record.Kind == kindStart {
				session++
			}
			record.Line, record.Session = number, session
			list = append(list, record)
		}
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
	}
}

// readLine reads a line. The rest of a long one is skipped.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// parse reads one line and returns what is wrong with it.
func (r *Record) parse(line []byte) (problem string) {
	// The body of a peer may repeat a name, and hidden names may be equal.
	err := strictjson.Read(line, strictjson.Limits{Mode: strictjson.Liberal}, func(r *strictjson.Reader) error {
		_, err := r.Value()
		return err
	})
	if err != nil {
		return "it is not valid JSON"
	}
	if json.Unmarshal(line, r) != nil {
		return "it is not a line of a capture"
	}
	switch r.Kind {
	case kindStart:
		if r.Version != version {
			return "it begins a capture of another version"
		}
	case kindRequest, kindResponse, kindEnd:
	default:
		return "it is not a line of a capture"
	}
	return ""
}
