package attribution

// Budgeted is a model that knows how many bytes an explanation of it may hold beside its weights. Others may hold 4 GB.
type Budgeted interface {
	Model
	Budget() int64
}

// defaultBudget is what an explanation may hold if the model does not say.
const defaultBudget = 4e9

// checkBudget returns a usage error if something needs more bytes than the model allows. what says what it is; less how to need less.
func checkBudget(m Model, need float64, what, less string) error {
	limit := int64(defaultBudget)
	if b, ok := m.(Budgeted); ok && b.Budget() > 0 {
		limit = b.Budget()
	}
	if need <= float64(limit) {
		return nil
	}
	return usagef("%s needs about %.1f GB, limit %.1f GB; %s, or allow more memory", what, need/1e9, float64(limit)/1e9, less)
}
