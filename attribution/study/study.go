// Package study links the studies of this project: a program that imports it has their options.
// What they find stands under their names in Studies of an explanation and of its tokens; a program
// reads it in the JSON form, which docs/json.md describes.
//
//	lens     what the model would have said after each layer
//	heads    what attention heads do, and what each wrote into a logit
//	patch    which places carry the difference between two prompts
//	verdict  what a prediction loses without the words that a picture names
//	without  where a part of the prompt mattered
//	scores   how the model predicts the tokens of the prompt
package study

import (
	_ "github.com/headwater-ml/headwater/internal/study/heads"
	_ "github.com/headwater-ml/headwater/internal/study/lens"
	_ "github.com/headwater-ml/headwater/internal/study/patch"
	_ "github.com/headwater-ml/headwater/internal/study/scores"
	_ "github.com/headwater-ml/headwater/internal/study/verdict"
	_ "github.com/headwater-ml/headwater/internal/study/without"
)
