package proxytest

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/toolwire/toolwire/internal/report"
	"github.com/toolwire/toolwire/proxy"
)

// show writes a record to the output of the platform's test.
func (p *Platform) show(record slog.Record) {
	_, _ = io.WriteString(p.output, "proxytest: "+report.Text(record))
}

// showRefused shows a request that got no result to the kit that dispatched the run, or else to the
// platform's test.
func (p *Platform) showRefused(ctx context.Context, call Call) {
	record := slog.NewRecord(time.Now(), slog.LevelWarn, report.CallRefused, 0)
	record.AddAttrs(
		slog.String(report.Tool, call.Tool), slog.String(report.Actor, call.Actor), slog.Int(report.Status, call.Status),
		slog.String(report.Class, call.ErrorClass), slog.String(report.Reason, call.Reason),
	)
	sink := report.From(ctx)
	if sink != nil {
		sink.Report(record)
	}
	if p.output != nil && (sink == nil || sink.Silent) {
		p.show(record)
	}
}

// showing shows the waits of a client in the output of the platform's test.
func (p *Platform) showing() *proxy.Observer {
	return &proxy.Observer{CallStart: func(ctx context.Context, _ proxy.CallInfo) context.Context {
		if report.From(ctx) != nil {
			return ctx
		}
		return report.With(ctx, &report.Sink{Report: p.show})
	}}
}
