package capture

import (
	"encoding/json"
	"net/http"
	"time"
)

// version is that of the format.
const version = 1

// The kinds of a [Record].
const (
	kindStart    = "start"
	kindRequest  = "request"
	kindResponse = "response"
	kindEnd      = "end"
	kindBroken   = "broken"
)

// A Record is one line of a capture. Its Kind is
//
//	start     a capture begins; placeholders and the numbers of exchanges begin anew
//	request   a request
//	response  a response, or the failure to get one
//	end       the capture was closed
//	broken    a line that cannot be read, such as the last one of a process that was killed
//
// Most fields are set for some kinds only.
type Record struct {
	Line    int    `json:"-"` // in the file, from 1
	Session int    `json:"-"` // the capture in the file that the line belongs to, from 1
	Problem string `json:"-"` // of kind broken: what is wrong with the line

	Kind    string    `json:"kind"`
	Time    time.Time `json:"time"`
	Version int       `json:"version,omitempty"` // of kind start
	Content bool      `json:"content,omitempty"` // of kind start: values are not replaced by shapes
	Lost    int64     `json:"lost,omitempty"`    // messages up to this line that are not in the capture

	// Exchange joins a request with its response. Side is dispatch, webhook, call or client. Run is
	// the same for all with one run token.
	Exchange int64  `json:"exchange,omitempty"`
	Side     string `json:"side,omitempty"`
	Run      string `json:"run,omitempty"`

	// Target is the path of a request. That of a dispatch or webhook is a shape.
	Method string `json:"method,omitempty"`
	Target string `json:"target,omitempty"`

	Status   int    `json:"status,omitempty"`
	Error    string `json:"error,omitempty"`    // why there is no response, or not the whole one, in fixed words
	NotSent  bool   `json:"not_sent,omitempty"` // the request cannot have reached the other side
	Protocol string `json:"protocol,omitempty"` // such as HTTP/1.1
	TLS      string `json:"tls,omitempty"`      // such as TLS 1.3; "" without TLS

	// Connection is the same for all requests that a server received on one connection. Reused and
	// IdleMS are about the connection of a client's request: it had been used before, and was idle
	// for so long. Connections is how many connections net/http needed, if more than one: the other
	// side had closed an idle one.
	Connection  string  `json:"connection,omitempty"`
	Reused      bool    `json:"reused,omitempty"`
	IdleMS      float64 `json:"idle_ms,omitempty"`
	Connections int     `json:"connections,omitempty"`

	FirstByteMS float64 `json:"first_byte_ms,omitempty"` // from the request to the headers of the response
	TookMS      float64 `json:"took_ms,omitempty"`       // from the request to the end of the response

	Headers http.Header `json:"headers,omitempty"`
	Body    *Body       `json:"body,omitempty"`
}

// A Body is the body of a message. JSON is set for JSON, and Form for a multipart form. Text is set
// for others. It is the text only with Options.Content, and if credentials can be found in it: the
// body is whole, not compressed, and has a media type text/*. Otherwise it is a shape.
type Body struct {
	Bytes        int64           `json:"bytes"`                  // that passed
	Cut          bool            `json:"cut,omitempty"`          // the rest was not read, or is not kept
	Decompressed bool            `json:"decompressed,omitempty"` // net/http has decompressed it
	JSON         json.RawMessage `json:"json,omitempty"`
	Form         [][2]string     `json:"form,omitempty"` // names and values of the parts, in order
	Text         string          `json:"text,omitempty"`
}
