package postgresstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog/postgresstore"
)

const (
	ready   = "Z\x00\x00\x00\x05I"
	welcome = "R\x00\x00\x00\x08\x00\x00\x00\x00" + ready
)

// message is a message of the protocol of Postgres.
func message(kind byte, payload string) string {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)+4))
	return string(head) + payload
}

// liar is a server that speaks the protocol and lies. answer is what follows a query, and auth the answer to the
// start.
func liar(t *testing.T, auth, answer string) *pgxpool.Config {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		var conns []net.Conn
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns = append(conns, conn)
			if len(conns) > 1 { // pgx asks for the end of a query, and waits for the end of its connection
				_ = conns[len(conns)-2].Close()
			}
			go func() {
				defer func() { _ = conn.Close() }()
				var size [4]byte
				if _, err := io.ReadFull(conn, size[:]); err != nil {
					return
				}
				if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(size[:]))-4); err != nil {
					return
				}
				_, _ = io.WriteString(conn, auth)
				for buffer := make([]byte, 64<<10); ; {
					if _, err := conn.Read(buffer); err != nil {
						return
					}
					if _, err := io.WriteString(conn, answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	address := listener.Addr().(*net.TCPAddr)
	config, err := pgxpool.ParseConfig(fmt.Sprintf("postgres://user:hunter22-hunter22@127.0.0.1:%d/db?sslmode=disable", address.Port))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// A call ends in time although each of its connections is lost.
func TestEveryConnectionIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := pgxpool.ParseConfig("postgres://user@127.0.0.1/db?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		var lost atomic.Int64
		config.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				buffer := make([]byte, 64<<10)
				_, _ = there.Read(buffer)
				_, _ = io.WriteString(there, welcome)
				_, _ = there.Read(buffer) // the query
				lost.Add(1)
				_ = there.Close()
			}()
			return here, nil
		}
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err = postgresstore.Open(ctx, pool)
		if spent := time.Since(began); toolwire.CodeOf(err) != toolwire.CodeTransport || lost.Load() < 10 || spent > 6*time.Second {
			t.Errorf("after %d losses in %s: %v", lost.Load(), spent, err)
		}
	})
}

// A server that lies makes a store fail in time, without a panic, without much memory and without the
// password in the error.
func TestServersThatLie(t *testing.T) {
	failure := func(text string) string {
		return message('E', "SERROR\x00C28P01\x00M"+text+"\x00\x00")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.Run("all", func(t *testing.T) {
		for _, tt := range []struct{ name, auth, answer string }{
			{"garbage at the start", "HTTP/1.1 400 Bad Request\r\n\r\n", ""},
			{"a password, repeated", message('R', "\x00\x00\x00\x03"), failure("the password hunter22-hunter22 is wrong")},
			{"an unknown authentication", message('R', "\x00\x00\x00\x63"), ""},
			{"a message of 2 GB", welcome, "D\x7f\xff\xff\xff"},
			{"a message without length", welcome, "D\x00\x00\x00\x00"},
			{"ready, and nothing else", welcome, ready},
			{"rows without a description", welcome, message('D', "\x00\x01\x00\x00\x00\x01x") + ready},
			{"a row of 65,535 columns", welcome, message('D', "\xff\xff") + ready},
			{"the password in an error", welcome, failure("hunter22-hunter22") + ready},
			{"silence", welcome, ""},
			{"silence at the start", "", ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				pool, err := pgxpool.NewWithConfig(t.Context(), liar(t, tt.auth, tt.answer))
				if err != nil {
					t.Fatal(err)
				}
				defer pool.Close()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // ends what waits for the server
				defer cancel()
				_, err = postgresstore.OpenRetry(ctx, pool, 100*time.Millisecond)
				if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "hunter22") {
					t.Errorf("%v", err)
				}
			})
		}
	})
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<30 {
		t.Errorf("%d bytes were allocated", spent)
	}
}
