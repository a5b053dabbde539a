// Package proxytest serves the tools of an agent in tests: it emulates the platform's per-run
// [proxy] in process. It enforces the documented contract ("[Porting without the SDK]", proxy
// contract; "Tools schema", modes and write policies), answers the tools and records what the agent
// did.
//
//	run := proxytest.NewPlatform(t, proxytest.World{
//		Tools:        tools,
//		InitialState: `{"order":{"4521":{"status":"shipped"}}}`,
//		Behaviors: map[string]proxytest.Behavior{
//			"get_order":    proxytest.Get("order", "order_id", nil),
//			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
//		},
//	}, nil).NewRun()
//	order, err := proxy.Call[Order](ctx, run.Client(nil), "get_order", map[string]string{"order_id": "4521"})
//	run.Log().AssertState(t, "order/4521", `{"status":"refunded"}`)
//
// A [Platform] is an http.Handler: httptest.NewServer serves it on loopback, and the proxy base URL
// of a run is the URL of the server and [Run].Path. [NewTransport] serves it without a network and
// works in testing/synctest bubbles. Package dispatchtest dispatches whole runs to an agent.
//
// This package is stable, as the README explains.
//
// # Stages of a call
//
// A call passes these stages in order: the token, the rate limit, the run in the path, the actor
// label, the size, the declared tools, the tool's input_schema, the [failure rules]. Then the
// tool's [Behavior] or [World].Simulator answers, or a result is generated from the tool's
// output_schema. The behavior of a tool in [passthrough] mode is the live tool behind the platform.
//
// # Output
//
// Nothing happens silently in a test. A platform made by [NewPlatform] writes to the output of the
// test (see testing.TB.Output) each request that it refuses, with the reason, and each wait of a
// client made by [Run.Client]. A client waits at the 61st call in a minute, because the documented
// limit is 60 requests per minute and token. In a testing/synctest bubble such a wait takes no
// time. [Options].RatePerMinute -1 lifts the limit. "go test" shows the output of tests that fail,
// or of all tests with -v.
//
// # Bubbles
//
// A goroutine that waits for the network keeps the clock of a testing/synctest bubble from moving,
// so the bubble hangs. In a bubble every HTTP client must be served in memory: the tool calls by
// [Run.Client] or [NewTransport] with the platform, the client of a model's SDK by [NewTransport]
// with a handler that simulates the model.
//
// # Concurrency and randomness
//
// A Platform and a [Run] are safe for concurrent use. They call behaviors concurrently.
//
// Equal worlds and equal calls give equal results. Tokens are random. Where the platform's
// documents do not describe the format of a failure, the format is a guess of this package, and a
// comment marks it.
//
// # Codes of errors
//
// All mistakes are reported together in one [*toolwire.Error]:
//
//	invalid_world  a world of [New], [Platform.With] or [ParseWorld] is not valid
//	invalid_rules  the failure rules of [ParseRules] are not valid
//
// Err joins the errors of packages schema and ledger among the problems. For a [World] that was not
// parsed, the pointers refer to its JSON form.
//
// # Codes of problems
//
//	tools     the tools are not valid
//	ledger    the ledger schema or the initial state is not valid
//	behavior  a behavior is not valid, or belongs to no tool
//	rule      a failure rule is not valid, or names an unknown tool
//	seed      the seed is not valid
//	json      the document is not one strict JSON value, or contains an unknown member
//
// [proxy]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#proxy
// [Porting without the SDK]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
// [failure rules]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#failure-rule
// [passthrough]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#passthrough
package proxytest

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// World declares the tools behind the proxy, and the data that they read and write. The zero World
// has no tools.
type World struct {
	// Tools are the agent's tools_schema. A call of any other tool is refused with 404
	// tool_not_executable. Arguments that do not match the tool's input_schema are refused with
	// 422, and calls of tools in the mode executed with 409 tool_executes_in_sandbox. If Tools
	// is empty, every tool with a behavior is declared and takes any arguments.
	Tools []schema.Tool

	// LedgerSchema declares the entities of the ledger. If LedgerSchema is nil, the ledger takes
	// any entity.
	LedgerSchema *ledger.Schema

	// InitialState is the ledger at the start of each run, as JSON:
	// {"order":{"4521":{"status":"shipped"}}}. "" is an empty ledger. Each run has its own copy.
	InitialState string

	// FailureRules make calls fail. If several rules apply to a call, only the first has an effect.
	FailureRules []FailureRule

	// Behaviors answer the tools, by name. A tool in passthrough mode needs a behavior, which is the
	// live tool: see [Forward]. A tool in sandbox mode without a behavior answers with a result
	// generated from its output_schema, or with the entity if it has none. The result agrees with the
	// ledger:
	//
	//   - An argument named id, or like an id_field of LedgerSchema, identifies an entity. An id that
	//     the ledger does not contain is answered with {"error":"order not found"}.
	//   - Properties with the name of a field of the entity get its value: in the result, in a
	//     wrapper such as data, and in a property with the name of the type. Entities to which it
	//     refers fill the properties with the names of their types.
	//   - A list contains the entities whose fields are equal to the arguments of the same names.
	//   - A value that the ledger does not contain is made up once and stays the same for the run.
	//   - A value of the ledger that the output_schema forbids is an error.
	//
	// Nothing is written. [Call].Notes names the source of each part.
	Behaviors map[string]Behavior

	// Simulator, if not nil, answers the tools in sandbox mode that have no behavior. It can ask a
	// model, for example: [Request] provides the tool's declaration, the arguments, the ledger and
	// BehaviorInstructions.
	Simulator Behavior

	// BehaviorInstructions are rules for Simulator: the column behavior_instructions of a task. The
	// package does not read them.
	BehaviorInstructions string

	// Seed varies generated results, and decides which requests fail by rules with a probability.
	Seed uint64
}

// Options configures a [Platform]. The zero value of every field is its default.
type Options struct {
	// RatePerMinute is how many requests of one run token are accepted in any 60 seconds. Others
	// are refused with 429. Defaults to 60. -1 lifts the limit. Then the clients of [Run.Client],
	// and of runs that package dispatchtest dispatches in process, do not wait either.
	RatePerMinute int

	// AllowUndeclared removes calls of undeclared tools from [Log.Faults]. They are still refused.
	AllowUndeclared bool
}

// Platform is the proxy of any number of runs in one world. It is an http.Handler and safe for
// concurrent use.
type Platform struct {
	world    *world
	rate     int
	maxBytes int
	lenient  bool
	output   io.Writer // of the test that the platform belongs to; nil if it belongs to none

	callLimit runctx.CallLimit

	last *atomic.Int64 // the last run's number, shared with the platforms made by With

	mu   sync.Mutex
	runs map[string]*Run // by token
}

// New returns a platform without runs. It compiles and copies the world once; behaviors may share
// state. A [*toolwire.Error] with invalid_world reports all mistakes in the world.
func New(w World, opts *Options) (*Platform, error) {
	p := &Platform{last: new(atomic.Int64), runs: map[string]*Run{}, rate: 60, maxBytes: httpcall.BodyBytes}
	if opts != nil {
		p.lenient = opts.AllowUndeclared
		if opts.RatePerMinute != 0 {
			p.rate = opts.RatePerMinute
		}
	}
	var err error
	if p.world, err = compile(w); err != nil {
		return nil, err
	}
	return p, nil
}

// With returns a platform without runs, with the same options and world, except for the initial
// state, the failure rules and the behavior instructions. It shares the compiled tools, so use it
// for many tasks with the same tools. The runs of both platforms have different ids. A [*toolwire.Error]
// with invalid_world reports all mistakes.
func (p *Platform) With(initialState string, rules []FailureRule, instructions string) (*Platform, error) {
	w, err := p.world.with(initialState, rules, instructions)
	if err != nil {
		return nil, err
	}
	return p.of(w), nil
}

// variant returns a platform without runs, with the same options and world, except for the seed,
// which is derived from the seed of the world and key. Repetitions of a task with a key each differ
// in generated results and in failures with a probability, and can be reproduced.
func (p *Platform) variant(key string) *Platform {
	w := *p.world
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s", w.seed, key)
	w.seed = h.Sum64()
	return p.of(&w)
}

// of returns a platform of another world with the options of p.
func (p *Platform) of(w *world) *Platform {
	return &Platform{
		world: w, last: p.last, runs: map[string]*Run{}, rate: p.rate, maxBytes: p.maxBytes,
		lenient: p.lenient, output: p.output,
	}
}

// NewPlatform is [New] for a test. Mistakes in the world fail the test at once. Faults of the runs
// fail it when it ends: see [Log].Faults. The output of the test names each request that was
// refused, each wait of a client, and what this package does not check or execute of the tools:
// parts of a schema that it does not support, malformed ledger adapters, and members of later
// releases of the platform.
func NewPlatform(t testing.TB, w World, opts *Options) *Platform {
	t.Helper()
	p, err := New(w, opts)
	if err != nil {
		t.Fatal(err)
	}
	p.output = testkit.Output(t)
	for _, line := range p.world.remarks {
		_, _ = fmt.Fprintf(p.output, "proxytest: %s\n", line)
	}
	t.Cleanup(func() {
		t.Helper()
		for _, run := range p.all() {
			for _, fault := range run.Log().Faults {
				t.Errorf("proxytest: %s", text.Lines(fault, maxFault))
			}
		}
	})
	return p
}

// NewRun begins a run, with its own token and ledger.
func (p *Platform) NewRun() *Run {
	state, err := ledger.NewState(json.RawMessage(p.world.initial), p.world.ledgerSchema)
	if err != nil {
		panic("proxytest: the initial state was valid before: " + err.Error())
	}
	number := p.last.Add(1)
	id := strconv.FormatInt(number, 10)
	run := &Run{
		ID: id, Path: "/api/odyssey-proxy/runs/" + id, Token: "run-" + random(24), JTI: random(16),
		platform: p, number: number, state: state, ledgerTurn: make(chan struct{}, 1), invented: map[string]any{},
		counts: map[string]int{}, matched: make([]int, len(p.world.rules)), attempts: map[string]int{},
		pending: map[int]Call{},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[run.Token] = run
	return run
}

// Tools returns the names of the declared tools, sorted.
func (p *Platform) Tools() []string { return slices.Clone(p.world.names.Tools) }

// declared returns the names that the world declares.
func (p *Platform) declared() text.Declared {
	names := p.world.names
	if p.lenient {
		names.Tools = nil
	}
	return text.Declared{
		Tools: slices.Clone(names.Tools), Executed: slices.Clone(names.Executed),
		Entities: slices.Clone(names.Entities), Flags: slices.Clone(names.Flags),
		IDFields: names.IDFields, Arguments: names.Arguments,
	}
}

var _ = hook.Set((*Platform).declared)
var _ = hook.Set(func(p *Platform) *schema.Set { return p.world.set }) // nil without schemas
var _ = hook.Set(func(p *Platform) *runctx.CallLimit { return &p.callLimit })
var _ = hook.Set(func(p *Platform) runctx.Rate { return runctx.Rate(max(p.rate, -1)) })
var _ = hook.Set(func(p *Platform) func(key string) *Platform { return p.variant })

func (p *Platform) all() []*Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.runs), func(a, b *Run) int { return cmp.Compare(a.number, b.number) })
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
