package tiny

import "slices"

// An Example is a prompt that the toy model can continue.
type Example struct {
	Prompt string
	Kind   Kind
	// Note says what to look at.
	Note string
	// Expected is the next word. For agreement, any verb in the same number is as good.
	Expected string
	// HeldOut says that the prompt combines words that were never together in training.
	HeldOut bool
}

// Examples returns prompts of the grammar. The first three show it best.
func Examples() []Example { return slices.Clone(examples) }

var examples = []Example{
	{
		Prompt: "the keys to the cabinet",
		Kind:   Agreement, Expected: "are",
		Note: "plural because of keys, not of cabinet",
	},
	{
		Prompt: "mary has the red key . john has the blue lamp . who has the lamp ?",
		Kind:   Recall, Expected: "john",
		Note: "the name stands in the second fact, found by lamp",
	},
	{
		Prompt: "mary talked to john about the book because",
		Kind:   Pronoun, Expected: "she",
		Note: "the pronoun means mary, the first person, though john is nearer",
	},
	{
		Prompt: "the key near the old cabinets by the door",
		Kind:   Agreement, Expected: "is",
		Note: "singular across two nouns",
	},
	{
		Prompt: "the dogs behind the house near the river",
		Kind:   Agreement, Expected: "are",
		Note: "plural across two nouns",
	},
	{
		Prompt: "the lamps by the cabinet near the door",
		Kind:   Agreement, Expected: "are", HeldOut: true,
		Note: "lamp was never trained with cabinet or door between it and its verb",
	},
	{
		Prompt: "john lost the key near mary because",
		Kind:   Pronoun, Expected: "he",
		Note: "the pronoun means john",
	},
	{
		Prompt: "emma helped tom with the lamp and took",
		Kind:   Pronoun, Expected: "her",
		Note: "a possessive, for emma",
	},
	{
		Prompt: "peter said to anna that",
		Kind:   Pronoun, Expected: "he",
		Note: "the pronoun means peter",
	},
	{
		Prompt: "kate met peter because",
		Kind:   Pronoun, Expected: "she", HeldOut: true,
		Note: "neither kate nor peter was ever trained with met",
	},
	{
		Prompt: "tom has the gray lamp . anna has the white cup . what does anna have ? the",
		Kind:   Recall, Expected: "white",
		Note: "the color stands in the second fact, found by anna",
	},
	{
		Prompt: "emma has the black book . paul has the yellow ring . jane has the pink map . " +
			"what color is the ring ?",
		Kind: Recall, Expected: "yellow",
		Note: "the color of the second of three facts",
	},
	{
		Prompt: "anna has the blue rope . mark has the pink bell . who has the bell ?",
		Kind:   Recall, Expected: "mark", HeldOut: true,
		Note: "none of these names was ever trained with one of these objects",
	},
	{
		Prompt: "list : lamp key door again :",
		Kind:   Copying, Expected: "lamp",
		Note: "the first word of the list",
	},
	{
		Prompt: "list : red mary boxes road again : red mary",
		Kind:   Copying, Expected: "boxes",
		Note: "the word after mary",
	},
}
