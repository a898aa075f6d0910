package explain

import "github.com/headwater-ml/headwater/internal/cli"

// flagGroups are the flags of explain as its help lists them: those that people need first, then
// groups. A flag that no group names is in the last one.
var flagGroups = []cli.FlagGroup{
	{Title: "Flags", Names: "model methods output open format view token max-tokens " +
		"continuation contrast by top chat help"},
	{Title: "What is read", Names: "input messages system chat-set pair position " +
		"special from to"},
	{Title: "What is generated", Names: "temperature seed alternatives edit"},
	{Title: "What pictures show", Names: "target without against against-model layer head " +
		"source filter size font palette color width full caption sinks alignment"},
	{Title: "Where it is computed", Names: "backend dtype pre max-memory"},
	{Title: "How methods compute and tokens are drawn", Names: "set"},
}
