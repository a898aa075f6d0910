// Keeps the recorded tokens of the tests out of the module that a program downloads. The tests of
// the module read them in a clone.
module github.com/headwater-ml/headwater/internal/tokenizer/testdata

go 1.26.5
