package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

//go:embed testdata/default.json
var defaultState []byte

// shop is the simulated backend: the orders behind the two tools.
type shop struct {
	mu     sync.Mutex
	orders map[string]*order
}

// openShop reads {"order": {id: {…}}}. A shipped_at such as "41 days ago" becomes that date.
func openShop(file string, now time.Time) (*shop, error) {
	data := defaultState
	if file != "" {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	var state struct {
		Orders map[string]*order `json:"order"`
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, fmt.Errorf("the state is no JSON of the form {\"order\": {id: {…}}}: %w", err)
	}
	for id, o := range state.Orders {
		if o == nil {
			return nil, fmt.Errorf("order %s is null", id)
		}
		var days int
		if n, err := fmt.Sscanf(o.ShippedAt, "%d days ago", &days); n == 1 && err == nil {
			o.ShippedAt = now.AddDate(0, 0, -days).Format(time.DateOnly)
		}
	}
	return &shop{orders: state.Orders}, nil
}

func (s *shop) world() proxytest.World {
	return proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": s.get, "refund_order": s.refund}}
}

func (s *shop) get(r *proxytest.Request) (any, error) {
	var args getOrder
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.orders[args.OrderID]; o != nil {
		return *o, nil
	}
	return failure("order not found"), nil
}

func (s *shop) refund(r *proxytest.Request) (any, error) {
	var args refundOrder
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.orders[args.OrderID]
	switch {
	case o == nil:
		return failure("order not found"), nil
	case o.Status == "refunded":
		return failure("already refunded"), nil
	case args.Amount > o.Amount:
		return nil, errors.New("the refund is larger than the order")
	}
	o.Status = "refunded"
	return refund{RefundID: "rf_" + args.OrderID}, nil
}

func failure(text string) map[string]string { return map[string]string{"error": text} }
