package dialect

func Chat() Dialect      { return nil }
func Messages() Dialect  { return nil }
func Responses() Dialect { return nil }
func Gemini() Dialect    { return nil }
