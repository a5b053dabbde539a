package main

import (
	"encoding/json"
	"sync"

	"github.com/toolwire/toolwire/proxy/cassette"
)

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "cannot be marshalled: " + err.Error()
	}
	return string(b)
}

// dispatches sends runs of all kinds to an endpoint over one protocol, while the proxy suffers all
// faults and is restarted. Over HTTP/1 each run is recorded on tape.
func (s *soak) dispatches(p protocol) {
	w := s.newWorld()
	proxySite := s.serve(p, w)
	outgoing, incoming := p.transport(), p.transport()
	defer outgoing.CloseIdleConnections()
	defer incoming.CloseIdleConnections()
	token := newSecret()
	opts := s.options(token, outgoing)
	opts.ProxyHosts, opts.MaxRuns = []string{proxySite.URL}, 48
	var recorder *cassette.Recorder
	if p == http1 {
		var err error
		recorder, err = cassette.NewRecorder(s.scratch, &cassette.RecorderOptions{Transport: outgoing})
		if err != nil {
			s.violate("", "the recorder: %v", err)
			return
		}
		opts.Proxy.Transport = recorder
	}
	h := w.endpoint(opts, recorder)
	site := s.serve(p, s.spoiled(h))
	c := &caller{soak: s, world: w, transport: incoming, endpoint: site.URL + "/dispatch", proxy: proxySite.URL}

	end := func() ending { return someEnding(s.random) }
	if s.calm {
		end = func() ending { return done }
	}
	runs := s.plan(w, s.runs, end, 4)
	restart := sync.OnceFunc(func() {
		proxySite.cut()
		proxySite.start()
	})
	s.each(runs, 64, func(r *run) {
		if r == runs[len(runs)/2] && !s.calm {
			restart()
		}
		with := token
		if r.ending == wrong {
			with = newSecret()
		}
		c.judge(r, c.deliver(r, with))
	})
	s.drained(h, runs)
	site.stop()
	proxySite.stop()
	if recorder != nil {
		s.taped("", recorder.Close())
		s.checkTapes(s.scratch, runs)
	}
	for _, r := range runs {
		s.account(r)
	}
}
