package served

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/workshop/benchmarks/floor"
)

const (
	agentToken = "agent-token"
	final      = "The refund of $79.50 has been issued for order #4521."
)

// way is the variable that makes this test binary a server.
const way = "TOOLWIRE_SERVED_WAY"

func TestMain(m *testing.M) {
	if name := os.Getenv(way); name != "" {
		serve(name)
	}
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() != "" {
		if p, err := python(); err == nil {
			fmt.Println("python: " + p.versions)
		}
	}
	os.Exit(m.Run())
}

// serve serves an agent on the port that it prints, for ever.
func serve(name string) {
	var waiting atomic.Int64
	wait := func() {
		waiting.Add(1)
		select {}
	}
	var handler http.Handler
	switch name {
	case "floor":
		client := &http.Client{Transport: pooled()}
		handler = floor.Handler(agentToken, func(ctx context.Context, run floor.Run) string {
			calls := floor.Client{HTTP: client, ProxyURL: run.ProxyURL, Token: run.Token}
			switch run.Instruction {
			case "five calls":
				for range 5 {
					if _, err := calls.Call(ctx, "get_order", order); err != nil {
						panic(err)
					}
				}
			case "wait":
				wait()
			}
			return final
		})
	case "careful":
		handler = floor.NewCareful(agentToken, pooled(),
			func(ctx context.Context, run floor.Run, client *floor.CarefulClient) (string, error) {
				switch run.Instruction {
				case "five calls":
					for range 5 {
						if _, err := client.Call(ctx, "get_order", order); err != nil {
							return "", err
						}
					}
				case "wait":
					wait()
				}
				return final, nil
			})
	case "toolwire":
		var err error
		handler, err = dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			switch run.Instruction {
			case "five calls":
				for range 5 {
					if _, err := run.Proxy.Do(ctx, "get_order", order); err != nil {
						return nil, err
					}
				}
			case "wait":
				wait()
			}
			return &dispatch.Response{FinalResponse: final}, nil
		}, &dispatch.Options{Tokens: []string{agentToken}})
		if err != nil {
			panic(err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("POST /dispatch", handler)
	mux.HandleFunc("GET /waiting", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, waiting.Load())
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, mux))
}

// pooled returns a transport that keeps its connections.
func pooled() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 4096, 4096
	return transport
}

var order = map[string]string{"order_id": "4521"}

// A server is a process that serves an agent, on one core.
type server struct {
	pid  int
	host string
}

// start starts a server: floor, careful, toolwire, or one in Python.
func start(b *testing.B, name string) *server {
	b.Helper()
	cmd := exec.Command("/proc/self/exe")
	if script := scripts[name]; script != "" {
		p, err := python()
		if err != nil {
			b.Skip(err)
		}
		cmd = exec.Command(p.path, script)
	}
	cmd.Env = append(os.Environ(), way+"="+name, "AGENT_TOKEN="+agentToken, "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(name, " printed no port: ", err)
	}
	return &server{cmd.Process.Pid, "127.0.0.1:" + strings.TrimSpace(port)}
}

// scripts are the servers in Python.
var scripts = map[string]string{"fastapi": "testdata/wrapper.py", "fastapi-async": "testdata/careful.py"}

type interpreter struct{ path, versions string }

// python finds an interpreter that has what the servers import.
var python = sync.OnceValues(func() (interpreter, error) {
	const versions = `import platform, fastapi, httpx, uvicorn
more = []
for name in ["uvloop", "httptools"]:
    try: more.append(name + " " + __import__(name).__version__)
    except ImportError: pass
print(", ".join(["CPython " + platform.python_version(), "FastAPI " + fastapi.__version__,
    "httpx " + httpx.__version__, "uvicorn " + uvicorn.__version__, *more]))`
	var reasons []string
	for _, path := range []string{"python3", "/usr/bin/python3"} {
		var stderr bytes.Buffer
		cmd := exec.Command(path, "-c", versions)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err == nil {
			return interpreter{path, strings.TrimSpace(string(out))}, nil
		}
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		reasons = append(reasons, path+": "+cmp.Or(lines[len(lines)-1], err.Error()))
	}
	return interpreter{}, fmt.Errorf("needs Python with FastAPI, httpx and uvicorn, in Debian the packages python3-fastapi, "+
		"python3-httpx and python3-uvicorn (%s)", strings.Join(reasons, "; "))
})

// cpu returns the processor time that the server has used. Its resolution is the tick of the clock
// ticks of Linux, 10 ms.
func (s *server) cpu(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name of the program may have spaces
	fields := strings.Fields(rest)
	ticks := int64(0)
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// rss returns the bytes of the server's memory that are resident.
func (s *server) rss(b *testing.B) int64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib << 10
}
