package models

import "github.com/headwater-ml/headwater/attribution/trace"

// PromptBytes returns about how many bytes reading a prompt of n tokens takes for what ask wants,
// besides the weights and the program: the cache for n tokens and those to generate,
// the rows asked for, and what one layer needs while it is computed. [Model.Steps] refuses a prompt
// that needs more than what is left of [Model.Memory]. It is 0 for a mixing that does not exist.
func (m *Model) PromptBytes(n int, ask trace.Ask) int64 {
	session, err := m.newSession(ask, roomFor(n, ask.MaxTokens))
	if err != nil {
		return 0
	}
	defer session.Close()
	return session.PromptBytes(n)
}
