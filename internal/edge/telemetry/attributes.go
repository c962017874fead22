package telemetry

import (
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// attributes are those of a span in the making. Values that are empty are left
// out, as in the request log.
type attributes []*commonpb.KeyValue

func (a *attributes) add(k string, v *commonpb.AnyValue) {
	*a = append(*a, &commonpb.KeyValue{Key: k, Value: v})
}

func (a *attributes) text(k, v string) {
	if v != "" {
		a.add(k, textValue(v))
	}
}

func (a *attributes) number(k string, v int64) {
	if v != 0 {
		a.add(k, &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}})
	}
}

func (a *attributes) seconds(k string, v time.Duration) {
	if v != 0 {
		a.add(k, &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.Seconds()}})
	}
}

func (a *attributes) mark(k string, v bool) {
	if v {
		a.add(k, &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}})
	}
}

func (a *attributes) list(k string, words ...string) {
	var values []*commonpb.AnyValue
	for _, w := range words {
		if w != "" {
			values = append(values, textValue(w))
		}
	}
	if len(values) > 0 {
		a.add(k, &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: values}}})
	}
}

func textValue(v string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: clean(v)}}
}

// clean is v within the bound of logged texts, and in UTF-8: one string that is
// not would make a whole batch unsendable.
func clean(v string) string { return strings.ToValidUTF8(clip(v, maxText), "\uFFFD") }
