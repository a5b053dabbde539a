package proxytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// ParseRules reads failure rules from JSON: a list in the format that [FailureRule] shows. Names
// must match exactly, and unknown members are not allowed. An [*Error] with [CodeRules] reports all
// mistakes.
func ParseRules(data []byte) ([]FailureRule, error) {
	var list []json.RawMessage
	problems := problems{code: CodeRules}
	err := rawjson.Read(data, rawjson.Limits{}, func(r *rawjson.Reader) error {
		if r.Kind() != '[' {
			return r.Errorf("failure rules must be a list")
		}
		whole, err := r.Value()
		if err == nil {
			err = json.Unmarshal(whole, &list)
		}
		return err
	})
	if err != nil {
		problems.add(err, problemRule, "", "%v", err)
		return nil, problems.err()
	}
	rules := make([]FailureRule, len(list))
	for i, raw := range list {
		add := func(format string, args ...any) {
			problems.add(nil, problemRule, fmt.Sprintf("/%d", i), format, args...)
		}
		if err := rules[i].read(raw); err != nil {
			add("%v", err)
			continue
		}
		rules[i].validate(add)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return rules, nil
}

var ruleMembers = []string{
	"tool", "trace", "arguments", "nth", "every", "probability",
	"response", "status", "error_class", "retry_after", "break", "delay_ms",
}

func (f *FailureRule) read(raw json.RawMessage) error {
	return rawjson.Read(raw, rawjson.Limits{}, func(r *rawjson.Reader) error {
		if r.Kind() != '{' {
			return r.Errorf("must be an object")
		}
		return r.Object(ruleMembers, func(name string) (err error) {
			if r.Kind() == 'n' && name != "response" {
				return r.Errorf("must not be null")
			}
			switch name {
			case "tool":
				f.Tool, err = r.String()
			case "trace":
				f.Trace, err = r.String()
			case "arguments":
				f.Arguments, err = r.Value()
			case "nth":
				f.Nth, err = readInts(r)
			case "every":
				f.Every, err = readInt(r)
			case "probability":
				f.Probability, err = r.Float()
			case "response":
				f.Response, err = r.Value()
			case "status":
				f.Status, err = readInt(r)
			case "error_class":
				f.ErrorClass, err = r.String()
			case "retry_after":
				f.RetryAfter, err = readInt(r)
			case "break":
				f.Break, err = r.String()
			case "delay_ms":
				var ms float64
				if ms, err = r.Float(); err == nil && math.Abs(ms) > 1e12 {
					err = errors.New("delay_ms is too long")
				}
				f.Delay = time.Duration(ms * float64(time.Millisecond))
			default:
				err = fmt.Errorf("has the unknown member %q", name)
			}
			return err
		})
	})
}

func readInt(r *rawjson.Reader) (int, error) {
	n, err := r.Int()
	if err != nil {
		return 0, err
	}
	if *n > math.MaxInt32 || *n < math.MinInt32 {
		return 0, r.Errorf("is too large")
	}
	return int(*n), nil
}

// readInts reads a list of integers, or one.
func readInts(r *rawjson.Reader) ([]int, error) {
	if r.Kind() != '[' {
		n, err := readInt(r)
		return []int{n}, err
	}
	raw, err := r.Value()
	if err != nil {
		return nil, err
	}
	var list []int
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return nil, r.Errorf("must be an integer or a list of integers")
	}
	return list, nil
}
