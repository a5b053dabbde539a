package oteltoolwire

import (
	"testing"

	genai "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// The names follow the conventions: of the last release with names for generative AI, and for
// HTTP of the newest one.
func TestNamesOfTheConventions(t *testing.T) {
	for got, want := range map[string]string{
		schemaURL:         genai.SchemaURL,
		attrOperation:     string(genai.GenAIOperationNameKey),
		attrProvider:      string(genai.GenAIProviderNameKey),
		attrAgentID:       string(genai.GenAIAgentIDKey),
		attrAgentName:     string(genai.GenAIAgentNameKey),
		attrConversation:  string(genai.GenAIConversationIDKey),
		attrModel:         string(genai.GenAIResponseModelKey),
		attrInputTokens:   string(genai.GenAIUsageInputTokensKey),
		attrOutputTokens:  string(genai.GenAIUsageOutputTokensKey),
		attrTokenType:     string(genai.GenAITokenTypeKey),
		attrToolName:      string(genai.GenAIToolNameKey),
		attrToolType:      string(genai.GenAIToolTypeKey),
		attrToolCallID:    string(genai.GenAIToolCallIDKey),
		attrToolArguments: string(genai.GenAIToolCallArgumentsKey),
		attrToolResult:    string(genai.GenAIToolCallResultKey),
		operationRun:      genai.GenAIOperationNameInvokeAgent.Value.AsString(),
		operationTool:     genai.GenAIOperationNameExecuteTool.Value.AsString(),
		tokenInput:        genai.GenAITokenTypeInput.Value.AsString(),
		tokenOutput:       genai.GenAITokenTypeOutput.Value.AsString(),
		metricTokens:      genaiconv.ClientTokenUsage{}.Name(),
		attrError:         string(semconv.ErrorTypeKey),
		attrMethod:        string(semconv.HTTPRequestMethodKey),
		"POST":            semconv.HTTPRequestMethodPost.Value.AsString(),
		attrResend:        string(semconv.HTTPRequestResendCountKey),
		attrStatus:        string(semconv.HTTPResponseStatusCodeKey),
		attrAddress:       string(semconv.ServerAddressKey),
		attrPort:          string(semconv.ServerPortKey),
		attrURL:           string(semconv.URLFullKey),
		attrTemplate:      string(semconv.URLTemplateKey),
		other:             semconv.ErrorTypeOther.Value.AsString(),
	} {
		if got != want {
			t.Errorf("%q, the convention has %q", got, want)
		}
	}
	if unit := (genaiconv.ClientTokenUsage{}).Unit(); unit != "{token}" {
		t.Errorf("the unit of %s is %s", metricTokens, unit)
	}
}
