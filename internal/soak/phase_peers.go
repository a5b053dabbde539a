package main

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/webhook"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

// rows runs n rows of a table, some at once. A row that fails three times is a violation: net/http has
// time limits of seconds for the beginning of a connection, which a very slow machine exceeds.
func (s *soak) rows(n int, row func(i int) (name string, failures string)) {
	var group sync.WaitGroup
	places := make(chan struct{}, 16)
	for i := range n {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			defer s.guard("")
			s.counts.runs.Add(1)
			var name, failures string
			for range 3 {
				if name, failures = row(i); failures == "" {
					return
				}
			}
			s.violate("the row "+name, "%s", failures)
		})
	}
	group.Wait()
}

// peers makes a call to each peer of faulttest.
func (s *soak) peers() {
	const good = `{"tool_name":"pay","response":{"run":1},"source":"odyssey","latency_ms":1,"matched_rule_index":null}`
	rows := faulttest.Rows()
	s.rows(len(rows), func(i int) (string, string) {
		row := rows[i]
		return row.Name, testkit.Failures(nil, func(t testing.TB) {
			row.Run(t, good, func(ctx context.Context, p faulttest.Peer) {
				s.counts.faults.Add(1)
				s.counts.calls.Add(1)
				c, err := proxy.New(p.URL, newSecret(), &proxy.Options{Transport: p.Transport, MaxAttempts: 1, Logger: s.log})
				if err != nil {
					t.Fatal(err)
				}
				got, err := c.Do(ctx, single, arguments{APIKey: newArgument()})
				s.inspectError(row.Name, err)
				var e *proxy.Error
				switch {
				case p.Want.Outcome == faulttest.Success:
					if err != nil {
						t.Errorf("%v", err)
					}
				case got != nil || !asError(err, &e):
					t.Errorf("%v, %v", got, err)
				case p.Want.Delivery == faulttest.MayHaveRun && p.Want.Status != 429 && e.Delivery != proxy.Unknown,
					p.Want.Delivery == faulttest.NotSent && e.Delivery != proxy.NotSent:
					t.Errorf("delivery %q: %v", e.Delivery, err)
				}
			})
		})
	})
}

// hostile sends the requests of hostiletest to both handlers.
func (s *soak) hostile() {
	subjects := []func() hostiletest.Subject{s.hostileEndpoint, s.hostileWebhook}
	rows := append(hostiletest.Bearers, hostiletest.Rows...)
	sentinels := hostiletest.Sentinels()
	first, second := len(rows), len(rows)+len(sentinels)
	s.rows(second+len(hostiletest.HTTP2Rows), func(i int) (string, string) {
		switch {
		case i < first:
			return rows[i].Name, testkit.Failures(nil, func(t testing.TB) { rows[i].Check(t, subjects[0]()) })
		case i < second:
			row := sentinels[i-first]
			return row.Name, testkit.Failures(nil, func(t testing.TB) { row.Check(t, subjects[1]()) })
		}
		row := hostiletest.HTTP2Rows[i-second]
		return row.Name, testkit.Failures(nil, func(t testing.TB) { row.Check(t, subjects[0]()) })
	})
}

func (s *soak) hostileEndpoint() hostiletest.Subject {
	var ran atomic.Int64
	token := newSecret()
	opts := s.options(token, http.DefaultTransport) // the agent makes no call
	opts.MaxBodyBytes, opts.SendTranscript = 1000, false
	h, err := dispatch.New(func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		ran.Add(1)
		return &dispatch.Response{FinalResponse: "done"}, nil
	}, opts)
	if err != nil {
		panic(err)
	}
	return hostiletest.Subject{
		Handler: h, Path: "/dispatch", Credential: "Authorization: Bearer " + token,
		Header: []string{
			"Content-Type: application/json", "X-Pipelines-Run-Token: " + newSecret(),
			"X-Pipelines-Odyssey-Proxy-Url: https://api.example.com/runs/abc",
		},
		Body: `{"task_id":1,"input":{"user_instruction":"x"}}`, MaxBody: 1000,
		Ran: func() int { return int(ran.Load()) },
	}
}

func (s *soak) hostileWebhook() hostiletest.Subject {
	var ran atomic.Int64
	secret := newSecret()
	tool := webhook.Define("count", "", func(context.Context, struct{}) (string, error) { ran.Add(1); return "done", nil })
	h, err := webhook.New([]webhook.Tool{tool}, &webhook.Options{Secrets: []string{secret}, MaxBodyBytes: 1000, Logger: s.log})
	if err != nil {
		panic(err)
	}
	return hostiletest.Subject{
		Handler: h, Path: "/tools", Credential: "X-Agent-Secret: " + secret,
		Header: []string{"X-Agent-Identity: " + agentID, "Content-Type: application/json"},
		Body:   `{"tool":"count","arguments":{}}`, MaxBody: 1000,
		Ran: func() int { return int(ran.Load()) },
	}
}
