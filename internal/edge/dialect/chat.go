package dialect

// Chat is the dialect of OpenAI chat completions, as a caller speaks it and as
// the many providers speak it that copied it. Reading a caller is strict, reading
// a provider is lenient: a member of an answer that is not known is passed over.
//
// Some things have no word on one of the sides and are said in another way:
//
//   - A system message after the first turn becomes a user turn at its place, and
//     "messages[].role" is noted in Dropped. It keeps its position, as a text
//     moved to the front would be read before what it speaks of and would spoil
//     the cached prefix; and it loses authority, which is the safe direction.
//   - Tool messages in a row are one turn of the user. Written, the results of a
//     turn come before its other parts, as chat wants them right after the calls.
//   - The failure of a tool is the text "Error: " before its result.
//   - Images and documents of a result follow in the next user message, below a
//     line that names the call; a tool message may hold text only.
//   - A document of a text type is a text, below its name.
//   - Thinking of earlier turns is left out, with "thinking" in Dropped: only the
//     provider that wrote it can check it. In answers it is reasoning_content,
//     without its signature; thinking that nobody can read is left out there.
//   - A budget of thinking becomes an effort, see chatEffort.
func Chat() Dialect { return chat{} }

type chat struct{}

func (chat) ReadRequest(body []byte) (*Request, error) {
	r, err := readChatRequest(body)
	if err != nil {
		return nil, err // not err alone: a nil *Error is no nil error
	}
	return r, nil
}

func (chat) WriteRequest(r *Request) ([]byte, error) {
	b, err := writeChatRequest(r)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (chat) ReadAnswer(body []byte) (*Answer, error) {
	a, err := readChatAnswer(body)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (chat) WriteAnswer(a *Answer) ([]byte, error) {
	b, err := writeChatAnswer(a)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (chat) NewReader() Reader { return newChatReader() }

func (chat) NewWriter(o WriterOptions) Writer { return newChatWriter(o) }
