package dispatch_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
)

// parked reports the memory that the server side of n waiting runs takes: heap in use and stacks.
func parked(b *testing.B, n int, way string) {
	for b.Loop() {
		var waiting sync.WaitGroup
		waiting.Add(n)
		release := make(chan bool)
		handler := floor(func(context.Context, string, json.RawMessage, string, string) string {
			waiting.Done()
			<-release
			return "done"
		})
		if way == "toolwire" {
			handler = newHandler(b, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
				waiting.Done()
				<-release
				return &dispatch.Response{FinalResponse: "done"}, nil
			})
		}
		server := httptest.NewServer(handler)
		address := server.Listener.Addr().String()
		conns := make([]net.Conn, n)
		request := rawRequest(address)
		runtime.GC()
		before := memory()
		for i := range conns {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Fatal(err)
			}
			conns[i] = conn
			if _, err := io.WriteString(conn, request); err != nil {
				b.Fatal(err)
			}
		}
		waiting.Wait()
		runtime.GC()
		b.ReportMetric(float64(memory()-before)/float64(n), "B/run")
		close(release)
		for _, conn := range conns {
			_ = conn.Close()
		}
		server.Close()
	}
}

func memory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func rawRequest(host string) string {
	r, _ := http.NewRequest("POST", "http://"+host+"/dispatch", nil)
	r.Header = seedHeaders()
	head := "POST /dispatch HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: " + strconv.Itoa(len(seedBody)) + "\r\n"
	for name, values := range r.Header {
		head += name + ": " + values[0] + "\r\n"
	}
	return head + "\r\n" + seedBody
}
